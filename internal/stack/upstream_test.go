package stack

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strconv"
	"testing"
	"time"
)

func portOf(t *testing.T, addr string) int {
	t.Helper()
	_, text, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func TestUpstreamEchoesAndCounts(t *testing.T) {
	u, err := StartUpstream()
	if err != nil {
		t.Fatal(err)
	}
	defer u.Stop()
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	for _, c := range []*http.Client{{}, {Transport: &http.Transport{Protocols: protocols}}} {
		req, err := http.NewRequest(http.MethodPost, "http://"+u.Addr+"/a?b=c", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("x-one", "1")
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var echo Echo
		err = json.NewDecoder(resp.Body).Decode(&echo)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if echo.Method != http.MethodPost || echo.Path != "/a?b=c" || echo.Host != u.Addr || echo.Header.Get("x-one") != "1" {
			t.Errorf("got %+v", echo)
		}
	}
	if u.Count("/a") != 2 || u.Count("/b") != 0 || u.Total() != 2 {
		t.Errorf("counted %d, %d of %d", u.Count("/a"), u.Count("/b"), u.Total())
	}
}

func TestUpstreamAnswersAsTold(t *testing.T) {
	u, err := StartUpstream()
	if err != nil {
		t.Fatal(err)
	}
	defer u.Stop()
	u.SetAnswer(Answer{Status: 418, Header: http.Header{"X-Two": {"2"}}, Delay: 30 * time.Millisecond, Body: "tea"})
	start := time.Now()
	resp, err := http.Get("http://" + u.Addr + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || string(body) != "tea" || resp.StatusCode != 418 || resp.Header.Get("x-two") != "2" {
		t.Errorf("%d %v %q %v", resp.StatusCode, resp.Header, body, err)
	}
	if took := time.Since(start); took < 30*time.Millisecond {
		t.Errorf("answered after %v", took)
	}
}

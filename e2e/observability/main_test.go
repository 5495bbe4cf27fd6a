// Package observability looks at the plugin as an operator does: through a real
// Prometheus, the access log and Envoy's own log, with the alert rules, the
// dashboard and the log formats that the project gives its users.
package observability

import (
	"net/http"
	"os"
	"testing"
	"time"

	"sluice/internal/stack/stacktest"
)

func TestMain(m *testing.M) { os.Exit(stacktest.Main(m)) }

// patience is how long anything may take; the machine may be busy.
const patience = 60 * time.Second

var client = &http.Client{
	Timeout:   patience,
	Transport: &http.Transport{MaxIdleConnsPerHost: 100, DisableCompression: true},
}

// get asks for a page as the caller of this key and fails the test unless the
// answer has the status.
func get(t *testing.T, url, key string, status int) http.Header {
	t.Helper()
	code, header, err := ask(url, key)
	if err != nil {
		t.Fatal(err)
	}
	if code != status {
		t.Fatalf("%s answered %d, expected %d", url, code, status)
	}
	return header
}

func ask(url, key string) (int, http.Header, error) {
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("x-key", key)
	resp, err := client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	resp.Body.Close()
	return resp.StatusCode, resp.Header, nil
}

// eventually polls until ok returns nil, or fails the test with its last error.
func eventually(t *testing.T, ok func() error) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := ok()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %v: %v", patience, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

package edges

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

var headersDoor = newDoor("headers", policy(nil,
	m{"name": "cookie", "match": m{"path": "/cookie"}, "key": "cookie:session", "rate": "2/hour", "missing": "deny"},
	m{"name": "user", "match": m{"path": "/user"}, "key": "header:x-user-id", "rate": "2/hour", "missing": "deny"},
	m{"name": "query", "match": m{"path": "/query"}, "key": "query:api_key", "rate": "2/hour", "missing": "deny"},
	m{"name": "page", "match": m{"path": "/page/*"}, "key": "path", "rate": "2/hour"},
), manager("max_request_headers_kb", 256), manager("common_http_protocol_options", m{"max_headers_count": 20_000}))

// A cookie is found behind 60 kB of others; its own value may be as long.
func TestHugeCookies(t *testing.T) {
	for _, client := range []*http.Client{h1, h2} {
		filler := strings.Repeat("a=b; ", 12_000)
		for _, session := range []string{uniqueKey(t), uniqueKey(t) + strings.Repeat("x", 60_000)} {
			get := func(cookie string) answer {
				return headersDoor.send(t, call{path: "/cookie", client: client, header: map[string]string{"cookie": cookie}})
			}
			get(filler+"session="+session).must(t, 200).limited(t)
			get("session="+session+"; "+filler).must(t, 200).limited(t)
			get(filler+"session="+session).must(t, 429).limited(t)
			// One byte further is another caller.
			get(filler+"session="+session+"y").must(t, 200)
		}
		// Nothing but noise: no key, and no panic.
		for _, cookie := range []string{filler, strings.Repeat("=", 60_000), strings.Repeat(";", 15_000), strings.Repeat("session;", 7_000)} {
			headersDoor.send(t, call{path: "/cookie", client: client, header: map[string]string{"cookie": cookie}}).must(t, 400)
		}
	}
}

// raw sends a request as it stands and reads its answer.
func (d *door) raw(t *testing.T, text string) answer {
	t.Helper()
	c := d.dial(t)
	if _, err := fmt.Fprint(c, text); err != nil {
		t.Fatal(err)
	}
	return readAnswer(t, bufio.NewReader(c))
}

// rawMaybe is raw for what Envoy may refuse to answer; ok is false then.
func (d *door) rawMaybe(t *testing.T, text string) (status string, ok bool) {
	t.Helper()
	c := d.dial(t)
	if _, err := fmt.Fprint(c, text); err != nil {
		return "", false
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return "", false
	}
	return fmt.Sprint(resp.StatusCode), true // the connection ends with the test
}

// A repeated header is its values joined by a comma, however it is spelled.
func TestRepeatedHeaders(t *testing.T) {
	a, b := uniqueKey(t), uniqueKey(t)
	send := func(lines ...string) answer {
		return headersDoor.raw(t, "GET /user HTTP/1.1\r\nhost: x\r\n"+strings.Join(lines, "\r\n")+"\r\n\r\n")
	}
	send("x-user-id: "+a, "x-user-id: "+b).must(t, 200)
	send("x-user-id: "+a, "accept: */*", "X-User-ID: "+b).must(t, 200)
	send("x-user-id: "+a+","+b).must(t, 429)
	send("x-user-id: "+a, "x-user-id: "+b).must(t, 429)
	send("x-user-id: "+b, "x-user-id: "+a).must(t, 200) // in another order it is another value
	for _, user := range []string{a, b} {
		for _, status := range []int{200, 200, 429} {
			send("x-user-id: "+user).must(t, status)
		}
	}
	send("x-user-id:").must(t, 400)

	// A thousand of them.
	many := make([]string, 1000)
	for i := range many {
		many[i] = fmt.Sprintf("x-user-id: %s-%d", a, i)
	}
	for _, status := range []int{200, 200, 429} {
		send(many...).must(t, status)
	}
}

// Thousands of query parameters, the one that counts among them.
func TestManyQueryParameters(t *testing.T) {
	key := uniqueKey(t)
	var before, after strings.Builder
	for i := range 8000 {
		fmt.Fprintf(&before, "a%d=%d&", i, i)
		fmt.Fprintf(&after, "&api_key=%d", i) // only the first counts
	}
	get := func(query string) answer { return headersDoor.send(t, call{path: "/query?" + query}) }
	get(before.String()+"api_key="+key+after.String()).must(t, 200)
	get("api_key="+key+"&"+before.String()).must(t, 200)
	get(before.String()+"%61pi_key="+key).must(t, 429)
	get("api_key="+key).must(t, 429)
	get(before.String()).must(t, 400)
	get(strings.Repeat("&", 60_000)).must(t, 400)
	get(strings.Repeat("%", 60_000)).must(t, 400)
}

// A path of 100 kB, of very many segments, is a key like any other.
func TestHugePath(t *testing.T) {
	path := "/page/" + uniqueKey(t) + strings.Repeat("/x", 50_000)
	for _, status := range []int{200, 200, 429} {
		headersDoor.send(t, call{path: path}).must(t, status)
	}
	headersDoor.send(t, call{path: path + "/y"}).must(t, 200)
	headersDoor.send(t, call{path: "/cookie/.." + path}).must(t, 429)
	headersDoor.send(t, call{path: strings.Repeat("/a/..", 20_000) + path}).must(t, 429)
}

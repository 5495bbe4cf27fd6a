package edges

import (
	"net"
	"net/http"
	"strings"
	"testing"
)

var (
	perIP = m{"name": "per-ip", "key": []any{"ip", "header:x-key"}, "rate": "2/hour"}
	// Envoy appends its peer to X-Forwarded-For.
	ownHop = newDoor("xff-own", policy(nil, perIP), manager("use_remote_address", true))
	// It also believes one proxy in front, as envoy.yaml's reader may set.
	twoHops = newDoor("xff-hops", policy(m{"client_ip": m{"trusted_hops": 1}}, perIP), manager("use_remote_address", true))
	// Envoy leaves X-Forwarded-For to its callers.
	noHop = newDoor("xff-none", policy(nil, perIP), manager("use_remote_address", false))
	// And decides on the address itself.
	envoysWord = newDoor("xff-envoy", policy(m{"client_ip": m{"envoy": true}}, perIP),
		manager("use_remote_address", true), manager("xff_num_trusted_hops", 1))
	byHeader = newDoor("xff-header", policy(m{"client_ip": m{"header": "cf-connecting-ip", "from": []any{"127.0.0.9"}}}, perIP),
		manager("use_remote_address", true))
	noIP = newDoor("xff-skip", policy(nil, m{"name": "per-ip", "key": []any{"ip", "header:x-key"}, "rate": "2/hour", "missing": "skip"}),
		manager("use_remote_address", false))
)

// from asks with an X-Forwarded-For, repeated where it holds a newline.
func from(d *door, t *testing.T, key, forwarded string) answer {
	t.Helper()
	text := "GET / HTTP/1.1\r\nhost: x\r\nx-key: " + key + "\r\n"
	for line := range strings.SplitSeq(forwarded, "\n") {
		text += "x-forwarded-for: " + line + "\r\n"
	}
	return d.raw(t, text+"\r\n")
}

// claims are addresses that a caller might claim to have.
var claims = []string{
	"10.0.0.1", "10.0.0.2, 10.0.0.3", "2001:db8::1", "127.0.0.1", "127.0.0.1:80", "::ffff:10.0.0.1", "unknown", "", "10.0.0.4,", ",10.0.0.5",
	"10.0.0.6\n10.0.0.7", "[::1]:80", "999.1.1.1", strings.Repeat("1.1.1.1, ", 500) + "10.0.0.8",
}

// Where Envoy writes its peer down, a caller's own word doesn't change whose
// counter it uses.
func TestForgedAddresses(t *testing.T) {
	key := uniqueKey(t)
	for i, claim := range claims {
		want := 429
		if i < 2 {
			want = 200
		}
		from(ownHop, t, key, claim).must(t, want)
	}
	other := clientAt(t, "127.0.0.77")
	for _, status := range []int{200, 200, 429} {
		ownHop.send(t, call{key: key, client: other}).must(t, status)
	}
}

// With one proxy trusted, the entry that it wrote counts, and nothing left of it.
func TestTrustedHop(t *testing.T) {
	for _, d := range []*door{twoHops, envoysWord} {
		key := uniqueKey(t)
		from(d, t, key, "10.0.0.9").must(t, 200)
		from(d, t, key, "10.9.9.1, 10.0.0.9").must(t, 200)
		from(d, t, key, "10.9.9.2\n10.0.0.9").must(t, 429)
		from(d, t, key, "10.0.0.9").must(t, 429)
		from(d, t, key, "10.0.0.10").must(t, 200)
	}
}

// A header is believed from the proxies that are named only.
func TestAddressFromAHeader(t *testing.T) {
	key := uniqueKey(t)
	proxy := clientAt(t, "127.0.0.9")
	for i, ip := range []string{"10.0.0.1", "10.0.0.1", "10.0.0.1", "10.0.0.2"} {
		want := []int{200, 200, 429, 200}[i]
		byHeader.send(t, call{key: key, client: proxy, header: map[string]string{"cf-connecting-ip": ip}}).must(t, want)
	}
	for i, ip := range []string{"10.0.0.3", "10.0.0.4", "10.0.0.5"} {
		want := []int{200, 200, 429}[i]
		byHeader.send(t, call{key: key, header: map[string]string{"cf-connecting-ip": ip}}).must(t, want)
	}
}

// Where Envoy takes the address from X-Forwarded-For, nobody's is known: all
// such requests share a counter, or the limit doesn't apply. It is said in the
// log, and counted.
func TestAddressThatIsUnknown(t *testing.T) {
	key := uniqueKey(t)
	before := stats(t).Sum("sluice_client_unknown_total", nil)
	for i, claim := range []string{"10.0.0.1", "10.0.0.2", "10.0.0.3", "127.0.0.1"} {
		want := 429
		if i < 2 {
			want = 200
		}
		from(noHop, t, key, claim).must(t, want)
	}
	for range 3 {
		from(noIP, t, key, "10.0.0.1").must(t, 200).unlimited(t)
	}
	if got := stats(t).Sum("sluice_client_unknown_total", nil) - before; got != 7 {
		t.Errorf("sluice_client_unknown_total grew by %v", got)
	}
	log := envoyLog(t)
	if n := strings.Count(log, "the client's address is unknown"); n < 1 || n > 2 {
		t.Errorf("it was logged %d times by 2 configurations", n)
	}
}

// clientAt is a client that connects from another of this machine's addresses.
func clientAt(t *testing.T, ip string) *http.Client {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}
	transport := &http.Transport{DialContext: dialer.DialContext}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Timeout: hang, Transport: transport}
}

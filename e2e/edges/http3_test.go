package edges

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"sluice/internal/stack"
	"sluice/internal/stack/envoyconfig"
)

// HTTP/3 is spoken between two listeners of the same Envoy: relayDoor3 takes
// HTTP/1.1 and 2 from the tests and asks http3Door, which has the plugin, over
// QUIC.
var (
	http3Limit = perKey("all", "3/hour", m{"settle": m{"refund_on": m{"status": "5xx", "no_answer": true}}})
	http3Door  = func() *door {
		d := newDoor("http3", policy(nil, http3Limit), quic)
		d.addr = freeUDP()
		return d
	}()
	http3Relay = newDoor("http3-relay", policy(nil), func(c *envoyconfig.Config) { c.RemovePlugin() },
		routes(m{"match": m{"prefix": "/"}, "route": m{"cluster": "http3"}}))
	http3Probe = look("http3-probe", http3Limit)
)

// http3Cluster is how the relay reaches the door.
func http3Cluster() m {
	return m{
		"name": "http3", "type": "STATIC", "connect_timeout": "5s",
		"typed_extension_protocol_options": m{
			"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": m{
				"@type":                "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
				"explicit_http_config": m{"http3_protocol_options": m{}},
			},
		},
		"transport_socket": m{
			"name": "envoy.transport_sockets.quic",
			"typed_config": m{
				"@type": "type.googleapis.com/envoy.extensions.transport_sockets.quic.v3.QuicUpstreamTransport",
				"upstream_tls_context": m{
					"sni":                "localhost",
					"common_tls_context": m{"validation_context": m{"trusted_ca": m{"inline_string": certificate.cert}}},
				},
			},
		},
		"load_assignment": m{"cluster_name": "http3", "endpoints": []any{m{"lb_endpoints": []any{
			m{"endpoint": m{"address": m{"socket_address": m{"protocol": "UDP", "address": stack.Host, "port_value": portOf(http3Door.addr)}}}},
		}}}},
	}
}

// quic makes a door listen for HTTP/3.
func quic(c *envoyconfig.Config) {
	c.ListenerField(envoyconfig.Gateway, "address", m{"socket_address": m{"protocol": "UDP", "address": stack.Host, "port_value": 0}})
	c.ListenerField(envoyconfig.Gateway, "udp_listener_config", m{"quic_options": m{}})
	c.Manager(envoyconfig.Gateway, "codec_type", "HTTP3")
	c.Manager(envoyconfig.Gateway, "http3_protocol_options", m{})
	c.FilterChain(envoyconfig.Gateway, "transport_socket", m{
		"name": "envoy.transport_sockets.quic",
		"typed_config": m{
			"@type": "type.googleapis.com/envoy.extensions.transport_sockets.quic.v3.QuicDownstreamTransport",
			"downstream_tls_context": m{"common_tls_context": m{"tls_certificates": []any{m{
				"certificate_chain": m{"inline_string": certificate.cert}, "private_key": m{"inline_string": certificate.key},
			}}}},
		},
	})
}

// certificate is made for this run.
var certificate = func() (made struct{ cert, key string }) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		DNSNames: []string{"localhost"}, IsCA: true, BasicConstraintsValid: true,
	}
	cert, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		panic(err)
	}
	made.cert = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}))
	made.key = string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
	return made
}()

// freeUDP is an address that nothing uses for UDP.
func freeUDP() string {
	c, err := net.ListenPacket("udp", stack.Addr(0))
	if err != nil {
		panic(err)
	}
	defer c.Close()
	return c.LocalAddr().String()
}

// Requests over HTTP/3 are limited, described and refused like others.
func TestHTTP3(t *testing.T) {
	spoken := func() float64 {
		return stats(t).Sum("envoy_http_downstream_rq_http3_total", map[string]string{"envoy_http_conn_manager_prefix": "http3"})
	}
	before := spoken()
	key := uniqueKey(t)
	for i := range 3 {
		a := http3Relay.send(t, call{method: http.MethodPost, key: key, body: strings.NewReader(strings.Repeat("x", 200_000))}).limited(t)
		if got := mustArrive(t, a, strings.NewReader(strings.Repeat("x", 200_000))); got.Method != http.MethodPost {
			t.Errorf("method %s", got.Method)
		}
		if got := a.remaining(t); got != 2-i {
			t.Errorf("%d remain", got)
		}
	}
	a := http3Relay.send(t, call{key: key}).must(t, 429).limited(t)
	if !strings.Contains(a.body, "Rate limit all exceeded") {
		t.Errorf("body %s", a.body)
	}
	a = http3Relay.send(t, call{method: http.MethodHead, key: key}).must(t, 429).limited(t)
	if a.body != "" {
		t.Errorf("body %s", a.body)
	}
	if got := spoken() - before; got != 5 {
		t.Errorf("%v requests came over HTTP/3", got)
	}
}

// Requests over HTTP/3 are settled like others. Envoy reports their end to
// filters in another way.
func TestHTTP3Settles(t *testing.T) {
	key := uniqueKey(t)
	for range 5 {
		http3Relay.send(t, call{key: key, do: "status:500"}).must(t, 500).limited(t)
		http3Probe.remains(t, call{key: key}, 3)
	}
	leave(t, http3Relay, call{key: key, do: "hang"}, false)
	http3Probe.remains(t, call{key: key}, 3)
	leave(t, http3Relay, call{key: key, do: "drip"}, true)
	http3Probe.remains(t, call{key: key}, 2)
}

package stacktest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"sluice/internal/stack"
)

// Certificates are files for TLS between two programs of a test.
type Certificates struct {
	CA         string // the authority that signed the others
	Cert, Key  string // a server's, for the names asked for
	ClientCert string
	ClientKey  string
}

// NewCertificates makes an authority, a server's certificate for these names,
// addresses or URIs (a workload's spiffe://…), and a client's.
func NewCertificates(t testing.TB, names ...string) Certificates {
	t.Helper()
	dir := t.TempDir()
	ca := newAuthority(t)
	c := Certificates{CA: writePEM(t, dir, "ca.crt", "CERTIFICATE", ca.cert.Raw)}
	c.Cert, c.Key = ca.sign(t, dir, "server", names)
	c.ClientCert, c.ClientKey = ca.sign(t, dir, "client", []string{"client"})
	return c
}

// TLSRedis starts a Redis that also takes TLS, on the port that it returns; with
// mutual only from clients with a certificate.
func TLSRedis(t testing.TB, o stack.RedisOptions, c Certificates, mutual bool) (r *stack.Redis, tlsAddr string) {
	t.Helper()
	port, err := stack.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	clients := "no"
	if mutual {
		clients = "yes"
	}
	o.Args = append(o.Args, "--tls-port", strconv.Itoa(port), "--tls-cert-file", c.Cert, "--tls-key-file", c.Key,
		"--tls-ca-cert-file", c.CA, "--tls-auth-clients", clients)
	return Redis(t, o), stack.Addr(port)
}

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	key := newKey(t)
	template := validNow(1, "a test's authority")
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{cert, key}
}

func (a *authority) sign(t testing.TB, dir, file string, names []string) (cert, key string) {
	t.Helper()
	own := newKey(t)
	template := validNow(time.Now().UnixNano(), names[0])
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	for _, n := range names {
		uri, err := url.Parse(n)
		switch ip := net.ParseIP(n); {
		case ip != nil:
			template.IPAddresses = append(template.IPAddresses, ip)
		case err == nil && uri.Scheme != "":
			template.URIs = append(template.URIs, uri)
		default:
			template.DNSNames = append(template.DNSNames, n)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &own.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		t.Fatal(err)
	}
	return writePEM(t, dir, file+".crt", "CERTIFICATE", der), writePEM(t, dir, file+".key", "PRIVATE KEY", private)
}

func validNow(serial int64, name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(serial),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
		KeyUsage:     x509.KeyUsageDigitalSignature,
	}
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func writePEM(t testing.TB, dir, name, kind string, der []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

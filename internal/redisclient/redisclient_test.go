package redisclient

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
)

// flags are what a command line says.
func flags(t *testing.T, args ...string) *Flags {
	t.Helper()
	f := new(Flags)
	set := pflag.NewFlagSet("test", pflag.ContinueOnError)
	f.Register(set)
	if err := set.Parse(append([]string{"--timeout", "5s"}, args...)); err != nil {
		t.Fatal(err)
	}
	return f
}

// refused checks that connecting fails, with what it says and without a secret.
func refused(t *testing.T, f *Flags, says string) {
	t.Helper()
	c, err := f.Connect(t.Context())
	if err == nil {
		_ = c.Close()
		t.Errorf("connected, expected …%s…", says)
		return
	}
	if !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v, expected …%s…", err, says)
	}
}

func connected(t *testing.T, f *Flags) {
	t.Helper()
	c, err := f.Connect(t.Context())
	if err != nil {
		t.Error(err)
		return
	}
	_ = c.Close()
}

func TestConnect(t *testing.T) {
	open := stacktest.Redis(t, stack.RedisOptions{Name: "open"})
	closed := stacktest.Redis(t, stack.RedisOptions{Name: "closed", ACL: []string{
		"user default off", "user tool on >s3cret ~rl:* -@all +exists",
	}})
	t.Setenv("RIGHT", "s3cret")
	t.Setenv("WRONG", "s3cret-not")
	connected(t, flags(t, "--redis", open.Addr))
	connected(t, flags(t, "--redis", closed.Addr, "--username", "tool", "--password-env", "RIGHT"))
	refused(t, flags(t, "--redis", closed.Addr, "--username", "tool", "--password-env", "WRONG"), "refused the user or the password")
	refused(t, flags(t, "--redis", closed.Addr), "wants a password")
	refused(t, flags(t, "--redis", closed.Addr, "--password-env", "NOT_SET_HERE"), "NOT_SET_HERE")
	refused(t, flags(t, "--redis", open.Addr, "--cluster"), "no cluster")
	refused(t, flags(t, "--redis", "127.0.0.1:1"), "nothing listens at 127.0.0.1:1")
	refused(t, flags(t, "--redis", open.Addr, "--tls", "--timeout", "300ms"), "speaks TLS")

	// A configuration says what the command line doesn't.
	f := flags(t, "--redis", closed.Addr)
	f.Fill(Defaults{Username: "tool", Password: "s3cret"})
	connected(t, f)
	f = flags(t, "--redis", closed.Addr, "--username", "tool", "--password-env", "RIGHT")
	f.Fill(Defaults{Username: "other", PasswordEnv: "WRONG", DB: 0})
	connected(t, f)
}

// A server that takes connections and says nothing.
func TestSilence(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	refused(t, flags(t, "--redis", l.Addr().String(), "--timeout", "200ms"), "didn't answer within 200ms")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := flags(t, "--redis", l.Addr().String()).Connect(ctx); err != context.Canceled {
		t.Errorf("after Ctrl-C: %v", err)
	}
}

func TestWrongFlags(t *testing.T) {
	for line, says := range map[string]string{
		"--redis nowhere":             "no host:port",
		"--redis :6379":               "no host:port",
		"--redis a:x":                 "port from 1 to 65535",
		"--redis a:1,b:2":             "say --cluster",
		"--db 1 --cluster":            "database 0",
		"--db -1":                     "0 or more",
		"--tls-ca x":                  "without --tls",
		"--tls --tls-ca /nonexistent": "--tls-ca",
		"--tls --tls-ca /dev/null":    "no PEM",
		"--tls --tls-cert a":          "go together",
		"--tls --tls-cert /dev/null --tls-key /no": "--tls-cert, --tls-key",
	} {
		_, err := flags(t, strings.Fields(line)...).Connect(t.Context())
		var wrong *FlagError
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", line, err)
		} else if !asFlagError(err, &wrong) {
			t.Errorf("%s: %v is no FlagError", line, err)
		}
	}
}

func asFlagError(err error, to **FlagError) bool {
	e, ok := err.(*FlagError)
	*to = e
	return ok
}

func TestCluster(t *testing.T) {
	cluster := stacktest.RedisCluster(t, 3)
	connected(t, flags(t, "--redis", cluster.Nodes[1].Addr, "--cluster"))
	// Asked as one server, a node refuses two of three keys.
	c, err := flags(t, "--redis", cluster.Nodes[0].Addr).Connect(t.Context())
	if err == nil {
		err = c.Get(t.Context(), "b").Err()
		f := flags(t, "--redis", cluster.Nodes[0].Addr)
		for _, k := range []string{"a", "b", "c"} {
			if e := c.Get(t.Context(), k).Err(); e != nil && strings.HasPrefix(e.Error(), "MOVED") {
				err = f.Explain(e)
			}
		}
		_ = c.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "add --cluster") {
		t.Errorf("a node asked as a server: %v", err)
	}
}

func TestTLS(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	selfSigned(t, cert, key)
	port, err := stack.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	stacktest.Redis(t, stack.RedisOptions{Args: []string{
		"--tls-port", strconv.Itoa(port), "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert,
	}})
	addr := "127.0.0.1:" + strconv.Itoa(port)
	connected(t, flags(t, "--redis", addr, "--tls", "--tls-ca", cert, "--tls-cert", cert, "--tls-key", key))
	connected(t, flags(t, "--redis", addr, "--tls", "--tls-ca", cert, "--tls-cert", cert, "--tls-key", key, "--tls-server-name", "redis.test"))
	refused(t, flags(t, "--redis", addr, "--tls", "--tls-cert", cert, "--tls-key", key), "TLS connection")
	refused(t, flags(t, "--redis", addr, "--tls", "--tls-ca", cert, "--tls-cert", cert, "--tls-key", key, "--tls-server-name", "other.test"), "--tls-server-name")
	refused(t, flags(t, "--redis", addr), "wants --tls")
}

// selfSigned writes a certificate for 127.0.0.1 and redis.test, and its key.
func selfSigned(t *testing.T, cert, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "redis.test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"redis.test"},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: raw}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

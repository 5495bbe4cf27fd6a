package digest_test

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"sluice/internal/digest"
)

// The examples of FIPS 180.
func TestKnownSums(t *testing.T) {
	for _, x := range []struct{ text, sha1, sha256 string }{
		{"", "da39a3ee5e6b4b0d3255bfef95601890afd80709", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{"abc", "a9993e364706816aba3e25717850c26c9cd0d89d", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", "84983e441c3bd26ebaae4aa1f95129e5e54670f1", "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
	} {
		a, b := digest.SHA1([]byte(x.text)), digest.SHA256([]byte(x.text))
		if got := hex.EncodeToString(a[:]); got != x.sha1 {
			t.Errorf("SHA-1 of %q is %s", x.text, got)
		}
		if got := hex.EncodeToString(b[:]); got != x.sha256 {
			t.Errorf("SHA-256 of %q is %s", x.text, got)
		}
	}
}

func same(t *testing.T, data []byte) {
	t.Helper()
	before := bytes.Clone(data)
	if got, want := digest.SHA1(data), sha1.Sum(data); got != want {
		t.Errorf("SHA-1 of %x is %x, want %x", data, got, want)
	}
	if got, want := digest.SHA256(data), sha256.Sum256(data); got != want {
		t.Errorf("SHA-256 of %x is %x, want %x", data, got, want)
	}
	if !bytes.Equal(before, data) {
		t.Error("the data was changed")
	}
}

// Every length around some blocks is padded right.
func TestEveryLength(t *testing.T) {
	data := make([]byte, 300)
	for i := range data {
		data[i] = byte(i * 7)
	}
	for n := range data {
		same(t, data[:n])
	}
}

func FuzzSums(f *testing.F) {
	f.Add([]byte("some text"))
	f.Add(make([]byte, 1000))
	f.Fuzz(same)
}

func BenchmarkSHA256(b *testing.B) {
	data := make([]byte, 200)
	for b.Loop() {
		digest.SHA256(data)
	}
}

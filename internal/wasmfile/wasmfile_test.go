package wasmfile

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
)

// mod makes a module of sections, each its id and body.
func mod(parts ...string) []byte {
	b := []byte(header)
	for _, p := range parts {
		b = append(b, p[0], byte(len(p)-1))
		b = append(b, p[1:]...)
	}
	return b
}

var stock = mod(
	"\x01\x01\x60\x00\x00",
	"\x02\x01\x03env\x09proxy_log\x00\x00",
	"\x07\x02\x01f\x00\x00\x17proxy_abi_version_0_2_1\x00\x00",
)

var example = Stamp{Version: "1.2.3", Go: "go1.26.8", MinEnvoy: "1.33"}

func TestStampIsReadBack(t *testing.T) {
	once, err := Add(stock, example)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(once, stock) {
		t.Error("the stamp changed what was there")
	}
	i, err := Describe(once)
	if err != nil {
		t.Fatal(err)
	}
	if i.Stamp != example || i.ABI != "0.2.1" || i.Host != "envoy" || i.Size != len(once) || len(i.SHA256) != 64 {
		t.Errorf("got %+v", i)
	}
	other := example
	other.Version = "1.2.4"
	twice, err := Add(once, other)
	if err != nil {
		t.Fatal(err)
	}
	if fresh, _ := Add(stock, other); !bytes.Equal(twice, fresh) {
		t.Error("a second stamp doesn't replace the first")
	}
}

func TestHigressIsTold(t *testing.T) {
	m, err := Add(mod("\x02\x01\x03env\x10proxy_redis_call\x00\x00"), example)
	if err != nil {
		t.Fatal(err)
	}
	if i, err := Describe(m); err != nil || i.Host != "higress" {
		t.Errorf("got %+v, %v", i, err)
	}
}

func TestWhatIsNoModuleOfOurs(t *testing.T) {
	if _, err := Describe(stock); !errors.Is(err, ErrNoStamp) {
		t.Errorf("without a stamp: %v", err)
	}
	stamped, err := Add(stock, example)
	if err != nil {
		t.Fatal(err)
	}
	// Cut anywhere it is refused, or a module without its stamp; nothing panics.
	for n := range stamped {
		if _, err := Describe(stamped[:n]); err == nil {
			t.Errorf("cut to %d bytes it passes", n)
		}
	}
	for name, m := range map[string][]byte{
		"imports that end early": mod("\x02\x02\x03env\x01f\x00\x00"),
		"exports that end early": mod("\x07\x05\x01f"),
		"a huge count":           mod("\x02\xff\xff\xff\xff\xff\xff\xff\xff\x7f"),
		"an imported memory":     mod("\x02\x01\x03env\x01m\x02\x00\x01"),
	} {
		if _, err := Describe(m); !errors.Is(err, errNoModule) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Add([]byte("no module"), example); !errors.Is(err, errNoModule) {
		t.Errorf("stamping text: %v", err)
	}
}

func TestAStampIsLines(t *testing.T) {
	for _, bad := range []string{"", "1\n2"} {
		s := example
		s.Version = bad
		if _, err := Add(stock, s); err == nil || !strings.Contains(err.Error(), "version") {
			t.Errorf("version %q: %v", bad, err)
		}
	}
}

func FuzzDescribe(f *testing.F) {
	stamped, err := Add(stock, example)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(stamped)
	f.Fuzz(func(t *testing.T, b []byte) {
		before := slices.Clone(b)
		_, _ = Describe(b)
		if !bytes.Equal(before, b) {
			t.Error("reading changed it")
		}
	})
}

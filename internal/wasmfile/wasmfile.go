// Package wasmfile says what a compiled plugin's file is, and stamps it with
// that. The compiled code knows its version too, but only a proxy can ask it.
package wasmfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// SectionName is the custom section that holds the stamp: lines "name value".
const SectionName = "sluice"

// ErrNoStamp means that a module is no build of sluice, or was made without make.
var ErrNoStamp = errors.New("the module has no stamp of sluice: it is no build of sluice, or one made without make")

// Stamp is what a build writes into a module.
type Stamp struct {
	Version  string // semantic
	Go       string // the compiler, such as go1.26.8
	MinEnvoy string // oldest Envoy that runs it, such as 1.33
}

// Info is what a module's file is.
type Info struct {
	Stamp
	SHA256 string // of the file, hex
	Size   int    // bytes
	ABI    string // of proxy-wasm, such as 0.2.1
	// Host is what it runs on: "envoy", or "higress" when it needs Redis calls
	// that only Higress's Envoy has.
	Host string
}

// Add returns the module with a stamp, in place of one that it has.
func Add(module []byte, s Stamp) ([]byte, error) {
	list, err := sections(module)
	if err != nil {
		return nil, err
	}
	for name, value := range s.lines() {
		if value == "" || strings.ContainsAny(value, "\n\r") {
			return nil, fmt.Errorf("a stamp's %s is one line, not %q", name, value)
		}
	}
	out := []byte(header)
	for _, x := range list {
		if !isStamp(x) {
			out = append(out, x.whole...)
		}
	}
	var body []byte
	body = appendText(body, SectionName)
	for _, name := range stampNames {
		body = append(body, name+" "+s.lines()[name]+"\n"...)
	}
	out = append(out, customSection)
	out = binary.AppendUvarint(out, uint64(len(body)))
	return append(out, body...), nil
}

// stampNames are a stamp's lines in their order.
var stampNames = []string{"version", "go", "min_envoy"}

func (s *Stamp) lines() map[string]string {
	return map[string]string{"version": s.Version, "go": s.Go, "min_envoy": s.MinEnvoy}
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

func isStamp(x section) bool {
	if x.id != customSection {
		return false
	}
	r := reader{b: x.body}
	return r.text() == SectionName && !r.bad
}

// Describe reads what a module's file is. The error is ErrNoStamp for one that
// isn't ours.
func Describe(module []byte) (Info, error) {
	list, err := sections(module)
	if err != nil {
		return Info{}, err
	}
	sum := sha256.Sum256(module)
	i := Info{SHA256: hex.EncodeToString(sum[:]), Size: len(module), Host: "envoy"}
	stamped := false
	for _, x := range list {
		switch {
		case isStamp(x):
			r := reader{b: x.body}
			r.text()
			i.Stamp, stamped = readStamp(r.b), true
		case x.id == importSection:
			names, err := imports(x.body)
			if err != nil {
				return Info{}, err
			}
			if slices.Contains(names, "proxy_redis_call") {
				i.Host = "higress"
			}
		case x.id == exportSection:
			names, err := exports(x.body)
			if err != nil {
				return Info{}, err
			}
			i.ABI = abi(names)
		}
	}
	if !stamped {
		return Info{}, ErrNoStamp
	}
	return i, nil
}

// abi finds the marker that a proxy looks for, proxy_abi_version_0_2_1.
func abi(names []string) string {
	for _, n := range names {
		if v, ok := strings.CutPrefix(n, "proxy_abi_version_"); ok {
			return strings.ReplaceAll(v, "_", ".")
		}
	}
	return ""
}

func readStamp(text []byte) Stamp {
	var s Stamp
	for line := range bytes.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSuffix(string(line), "\n"), " ")
		switch name {
		case "version":
			s.Version = value
		case "go":
			s.Go = value
		case "min_envoy":
			s.MinEnvoy = value
		}
	}
	return s
}

package accesslog

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// line is a request in the common log format; its number is its path.
func line(second, number int) string {
	return fmt.Sprintf("192.0.2.1 - - [04/Mar/2026:%02d:%02d:%02d +0000] \"GET /%d HTTP/1.1\" 200 1\n", second/3600, second/60%60, second%60, number)
}

func open(t testing.TB, text string, o Options) *Log {
	t.Helper()
	l, err := Open(context.Background(), []io.Reader{strings.NewReader(text)}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func paths(t testing.TB, l *Log) (out []string) {
	t.Helper()
	if err := l.Each(func(r *Record) error { out = append(out, r.Path); return nil }); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestSortsByTime(t *testing.T) {
	var text strings.Builder
	for i, s := range []int{5, 3, 9, 3, 0, 7} {
		text.WriteString(line(s, i))
	}
	l := open(t, text.String(), Options{})
	if diff := cmp.Diff([]string{"/4", "/1", "/3", "/0", "/5", "/2"}, paths(t, l)); diff != "" {
		t.Error(diff)
	}
	if l.OutOfOrder != 4 || l.Lines != 6 || l.Read != 6 || l.To-l.From != 9_000_000 {
		t.Errorf("%+v", l)
	}
	if diff := cmp.Diff(paths(t, l), paths(t, l)); diff != "" {
		t.Errorf("a second time: %s", diff)
	}
}

// Whatever the memory, lines come in the order of their time, and those of one
// time in their own order.
func TestSortsInBoundedMemory(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	rapid.Check(t, func(rt *rapid.T) {
		seconds := rapid.SliceOfN(rapid.IntRange(0, 40), 1, 300).Draw(rt, "seconds")
		var text strings.Builder
		for i, s := range seconds {
			text.WriteString(line(s, i))
		}
		p, err := ParseFormat("common", nil)
		if err != nil {
			rt.Fatal(err)
		}
		l, err := Open(context.Background(), []io.Reader{strings.NewReader(text.String())}, Options{Parser: p, RunBytes: rapid.IntRange(1000, 20_000).Draw(rt, "memory")})
		if errors.Is(err, errScattered) {
			rt.Skip("more files than are worth it")
		}
		if err != nil {
			rt.Fatal(err)
		}
		defer l.Close()
		var want []string
		for s := range 41 {
			for i, x := range seconds {
				if x == s {
					want = append(want, fmt.Sprintf("/%d", i))
				}
			}
		}
		var got []string
		if err := l.Each(func(r *Record) error { got = append(got, r.Path); return nil }); err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatal(diff)
		}
	})
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// A log that is in order makes one file, however long.
func TestOrderedLogMakesOneFile(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var text strings.Builder
	for i := range 2000 {
		text.WriteString(line(i, i))
	}
	l := open(t, text.String(), Options{RunBytes: 4000})
	if n := len(l.sorter.files); n != 1 {
		t.Errorf("%d files", n)
	}
	if got := paths(t, l); len(got) != 2000 || got[1999] != "/1999" {
		t.Errorf("%d lines", len(got))
	}
}

func TestTooScattered(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var text strings.Builder
	for i := range 3000 {
		text.WriteString(line(4000-i, i))
	}
	p, err := ParseFormat("common", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(context.Background(), []io.Reader{strings.NewReader(text.String())}, Options{Parser: p, RunBytes: 500}); !errors.Is(err, errScattered) {
		t.Errorf("error %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestProblemsAreCounted(t *testing.T) {
	text := line(1, 1) + "\n" + "garbage \x1b[31m one\ngarbage two\n" + line(2, 2) +
		strings.TrimSuffix(line(3, 3), " 1\n") + "\n" + "a\x00b\n" + strings.Repeat("y", maxLine+5) + "\n" + strings.TrimSuffix(line(4, 4), "\n")
	p, err := ParseFormat("common", nil)
	if err != nil {
		t.Fatal(err)
	}
	l := open(t, text, Options{Parser: p})
	want := []Problem{
		{string(errShape), 2, 2, "garbage ·[31m one", true},
		{"breaks off: read as far as it goes", 1, 5, `192.0.2.1 - - [04/Mar/2026:00:00:03 +0000] "GET /3 HTTP/1.1" 200`, false},
		{string(errNotText), 1, 6, "a·b", true},
		{string(errTooLong), 1, 7, strings.Repeat("y", exampleLine), true},
	}
	if diff := cmp.Diff(want, l.Problems); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"/1", "/2", "/3", "/4"}, paths(t, l)); diff != "" {
		t.Error(diff)
	}
	if l.Lines != 8 || l.Skipped() != 4 {
		t.Errorf("%d lines, %d skipped", l.Lines, l.Skipped())
	}
}

func TestGzip(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(line(2, 2) + line(1, 1)))
	_ = z.Close()
	whole := b.Bytes()
	l := open(t, string(whole)+string(whole), Options{}) // two members
	if diff := cmp.Diff([]string{"/1", "/1", "/2", "/2"}, paths(t, l)); diff != "" {
		t.Error(diff)
	}
	// A file that breaks off is read as far as it goes.
	l = open(t, string(whole[:len(whole)-6]), Options{})
	if len(l.Problems) != 1 || !strings.Contains(l.Problems[0].Reason, "breaks off") || l.Read != 2 {
		t.Errorf("%d read, problems %+v", l.Read, l.Problems)
	}
}

func TestUnknownFormat(t *testing.T) {
	_, err := Open(context.Background(), []io.Reader{strings.NewReader("hello\nworld\n")}, Options{})
	if !errors.Is(err, ErrUnknownFormat) {
		t.Errorf("error %v", err)
	}
}

func TestOpenStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Open(ctx, []io.Reader{strings.NewReader(line(1, 1))}, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func BenchmarkParse(b *testing.B) {
	for name, text := range map[string]string{
		"combined": `192.0.2.1 - - [04/Mar/2026:05:06:07 +0000] "GET /a?b=c HTTP/1.1" 200 12 "-" "Mozilla/5.0 (X11; Linux x86_64)"`,
		"json":     `{"start_time":"2026-03-04T05:06:07.000Z","method":"GET","path":"/p?q=1","response_code":200,"bytes_sent":7,"duration":12,"authority":"h"}`,
	} {
		b.Run(name, func(b *testing.B) {
			p, err := ParseFormat(name, nil)
			if err != nil {
				b.Fatal(err)
			}
			var r Record
			for b.Loop() {
				if _, err := p.Parse(text, &r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

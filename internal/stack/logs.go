package stack

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// tailBytes bounds how much of a log Tail reads.
const tailBytes = 64 << 10

// Tail returns the last n lines of a log, each indented, or a line saying why
// it can't.
func Tail(path string, n int) string {
	text, err := readEnd(path, tailBytes)
	if err != nil {
		return fmt.Sprintf("  (no log: %v)", err)
	}
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return "  " + strings.Join(lines, "\n  ")
}

func openLog(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
}

func readEnd(path string, most int64) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if _, err := f.Seek(max(0, info.Size()-most), io.SeekStart); err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(f, most))
	return string(text), err
}

// logSize is how long a log is now; 0 when there is none.
func logSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// logSays reports whether a log holds text after its first skip bytes.
func logSays(path string, skip int64, text string) bool {
	log, err := os.ReadFile(path)
	return err == nil && int64(len(log)) >= skip && strings.Contains(string(log[skip:]), text)
}

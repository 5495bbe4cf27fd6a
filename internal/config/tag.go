package config

import (
	"strconv"
	"strings"

	"sluice/internal/jsontext"
)

// Tag marks a request that a limit would reject, and lets it through.
type Tag struct {
	Header string // lower case
	Value  string
}

var defaultTag Tag

var tagTable = newTable("tag", "Marks requests instead of rejecting them; a caller's own header of that name is removed.", &defaultTag, []*field{
	must(row("header", &defaultTag.Header, headerName(), "", "The header that is set.")),
	row("value", &defaultTag.Value, printable(), `"1"`, "Its value."),
}, func(p *parser, _ *jsontext.Value, given givenFields, t *Tag) {
	switch t.Header {
	case "host", "content-length", "transfer-encoding", "connection", "upgrade", "te":
		p.failField(given("header"), "header", "this header has a meaning of its own", "")
	}
})

// percent is a share of keys, in hundredths of a percent.
//
//go:noinline
func percent() kind[int64] {
	return worded("a percentage", func(p *parser, v *jsontext.Value, s string, to *int64) bool {
		n, ok := strings.CutSuffix(s, "%")
		whole, frac, _ := strings.Cut(n, ".")
		w, err := strconv.ParseUint(whole, 10, 8)
		f, ferr := uint64(0), error(nil)
		if frac != "" {
			if len(frac) == 1 {
				frac += "0"
			}
			f, ferr = strconv.ParseUint(frac, 10, 8)
		}
		sum := w*100 + f
		if !ok || err != nil || ferr != nil || len(frac) > 2 || strings.HasSuffix(n, ".") || sum > 10_000 {
			return p.fail(v, quote(s)+" is not a percentage from 0% to 100%, such as 25%")
		}
		*to = int64(sum)
		return true
	}).as(Type{Name: "percentage", Doc: "`25%`, at most two decimals.", Pattern: "^[0-9]{1,3}(\\.[0-9]{1,2})?%$"})
}

package doctest

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// Link leads from a page to another file, or to a heading.
type Link struct {
	Line   int    // from 1
	Target string // as written, without the heading: a path, a URL, or "" for the page itself
	Anchor string // the heading's name, without #; "" for none
}

var (
	inline    = regexp.MustCompile(`!?\[[^\]]*\]\(([^()\s]+(?:\([^()\s]*\)[^()\s]*)*)(?:\s+"[^"]*")?\)`)
	attribute = regexp.MustCompile(`(?:href|src|srcset)="([^"]+)"`)
	reference = regexp.MustCompile(`^\[[^\]]+\]:\s+(\S+)`)
	picture   = regexp.MustCompile(`\[!\[[^\]]*\]\([^)]*\)\]\(([^)]+)\)`) // a link around an image
	comment   = regexp.MustCompile(`<!--.*?-->`)
	code      = regexp.MustCompile("`[^`]*`")
	heading   = regexp.MustCompile(`^#{1,6}\s+(.*?)\s*#*$`)
	named     = regexp.MustCompile(`<a\s+(?:id|name)="([^"]+)"`)
	linkText  = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
)

// Links finds the links and pictures of a page, outside of code and comments.
func Links(page string) []Link {
	var out []Link
	for i, line := range prose(page) {
		line = comment.ReplaceAllString(line, "")
		line = code.ReplaceAllStringFunc(line, func(s string) string { return strings.Repeat("x", len(s)) })
		for _, re := range []*regexp.Regexp{inline, picture, attribute, reference} {
			for _, m := range re.FindAllStringSubmatch(line, -1) {
				target, anchor, _ := strings.Cut(m[1], "#")
				out = append(out, Link{i + 1, target, anchor})
			}
		}
	}
	return out
}

// Anchors are the names by which links reach a page's headings: as GitHub makes
// them, in lower case, spaces as hyphens, other signs left out, and a number
// behind a name that was there before.
func Anchors(page string) map[string]bool {
	out := map[string]bool{}
	for _, line := range prose(page) {
		for _, m := range named.FindAllStringSubmatch(line, -1) {
			out[m[1]] = true
		}
		m := heading.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		name := slug(linkText.ReplaceAllString(m[1], "$1"))
		unique := name
		for n := 1; out[unique]; n++ {
			unique = name + "-" + strconv.Itoa(n)
		}
		out[unique] = true
	}
	return out
}

func slug(text string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(text) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r):
			b.WriteRune(r)
		}
	}
	return b.String()
}

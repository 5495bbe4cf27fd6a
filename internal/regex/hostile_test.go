package regex

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

// hostile are expressions of up to 1024 bytes that are made to be dear.
func hostile() map[string]string {
	fill := func(open, middle, close string) string {
		n := (1024 - len(middle)) / (len(open) + len(close))
		return strings.Repeat(open, n) + middle + strings.Repeat(close, n)
	}
	var stairs strings.Builder
	for i := 1; stairs.Len()+i < 1024; i++ {
		stairs.WriteString("abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz"[:i] + "|")
	}
	var opens, closes, row strings.Builder
	for i := range 150 {
		word := string([]byte{'a' + byte(i%26), 'a' + byte(i/26), 'x'})
		opens.WriteString("(")
		closes.WriteString("|" + word + ")")
		row.WriteString("(" + word + "|")
	}
	return map[string]string{
		"all different":        opens.String() + "a" + closes.String(),
		"all different, right": row.String() + "a" + strings.Repeat(")", 150),
		"deep":                 fill("(", "a", ")"),
		"deep and optional":    fill("(", "a", ")?"),
		"deep stars":           fill("(?:a", "b", ")*"),
		"deep alternatives":    fill("(", "ab", "|cd)"),
		"deeper alternatives":  fill("(ab|", "cd", ")"),
		"deep optional":        fill("(ab|", "cd", ")?"),
		"many alternatives":    fill("ab|", "", "cd|"),
		"single alternatives":  fill("a|", "", "a*|"),
		"large alternatives":   fill("a{999}|", "a", "b{999}|"),
		"large, alike":         fill("a{998}|", "a", "a{999}|"),
		"large in a row":       fill("a{999}", "", ""),
		"nested large":         fill("(", "a{10}b", "){2}|c"),
		"edges":                "(" + strings.Repeat("^|$|", 254) + "a)|b",
		"common beginnings":    "a{250}|" + strings.Repeat("a(b|", 200) + "c" + strings.Repeat(")", 200),
		"numbered beginnings":  strings.Repeat("a{9}b|a{8}b|a{7}b|a{6}b|a{5}b|", 30) + "a",
		"stairs":               stairs.String(),
		"classes":              fill(`\pL`, "", `\PN`),
		"one class":            "[" + fill(`\pL`, "", `\PN`) + "]",
		"folded classes":       "(?i)" + fill(`\pL`, "", `\PN`),
		"folded ranges":        "(?i)" + fill("[a-\U0001e942]", "", "[^\x00-\U0001e942]"),
		"different classes":    fill(`[\pLa]`, "", `[\pN0]`),
		"alternative classes":  fill(`\pL|`, "", `\pN|`),
		"stars of stars":       "(?:" + fill("(?:a*|", "b", ")*") + ")",
		"empty":                fill("(|", "", ")*"),
		"repeated empty":       fill("(?:", "", "){9}"),
		"repeated by number":   "((a{10}){10}){10}",
		"repeated alternative": "(?:" + strings.Repeat("foo|fob|", 40) + "){6}",
		"optional by number":   "(?:a?){1000}",
		"many ways":            strings.Repeat("a?", 256) + strings.Repeat("a", 256),
		"many more ways":       "(?:(?:a*)*(?:a|a)*a?){20}b",
	}
}

// However an expression is made, to compile it is quick, and so is a match: a
// thousandth of what a backtracking search would take.
func TestHostileExpressions(t *testing.T) {
	text := strings.Repeat("a", 10_000)
	for name, pattern := range hostile() {
		began := time.Now()
		x, err := Compile(pattern)
		took := time.Since(began)
		if took > 2*time.Second {
			t.Errorf("%s: compiling takes %v", name, took)
		}
		if _, theirs := regexp.Compile(pattern); err == nil && theirs != nil {
			t.Errorf("%s: package regexp says %v", name, theirs)
		}
		steps := 0
		began = time.Now()
		if err == nil {
			steps = len(x.steps)
			x.MatchString(text)
		}
		t.Logf("%s: compiled in %v to %d steps, %v; matched in %v", name, took, steps, err, time.Since(began))
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%s: a match takes %v", name, took)
		}
	}
}

func TestHostileExpressionsLikeRegexp(t *testing.T) {
	for _, pattern := range hostile() {
		likeRegexp(t, pattern, "", "a", "ab", "cd", strings.Repeat("a", 300), strings.Repeat("ab", 300)+"é")
		likeRegexp(t, "^"+pattern+"$", "", "a", "ab", "cd", strings.Repeat("a", 300), strings.Repeat("ab", 300)+"é")
	}
}

package regex

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// likeRegexp checks that an expression fits what package regexp says, and has no
// more steps than there.
func likeRegexp(t interface {
	Helper()
	Errorf(string, ...any)
}, pattern string, texts ...string) {
	t.Helper()
	x, err := Compile(pattern)
	want, wantErr := regexp.Compile(pattern)
	if wantErr != nil {
		if err == nil || "error parsing regexp: "+err.Error() != wantErr.Error() {
			// What isn't UTF-8 is said first here.
			if !scriptWithUnderscore(wantErr.Error()) && (err == nil || utf8.ValidString(pattern)) {
				t.Errorf("%q: %v, want %v", pattern, err, wantErr)
			}
		}
		return
	}
	theirs := stepsOfRegexp(t, pattern)
	if err != nil {
		if err.Error() != "it repeats too much" || theirs <= MaxSteps {
			t.Errorf("%q, with %d steps in package regexp: %v", pattern, theirs, err)
		}
		return
	}
	if len(x.steps) > theirs {
		t.Errorf("%q has %d steps, package regexp needs %d", pattern, len(x.steps), theirs)
	}
	for _, s := range texts {
		if got := x.MatchString(s); got != want.MatchString(s) {
			t.Errorf("%q fits %q: %v", pattern, s, got)
		}
	}
}

// stepsOfRegexp is what package regexp compiles a pattern to.
func stepsOfRegexp(t interface{ Errorf(string, ...any) }, pattern string) int {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		t.Errorf("%q: %v", pattern, err)
		return 0
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		t.Errorf("%q: %v", pattern, err)
		return 0
	}
	return len(prog.Inst)
}

// scriptWithUnderscore reports whether an error is that of a script such as
// Old_Italic, which RE2 knows, and package regexp doesn't find by its name.
func scriptWithUnderscore(message string) bool {
	for name := range unicode.Scripts {
		if plainName(name) != name {
			message = strings.ReplaceAll(plainName(message), plainName(name), "\x00")
		}
	}
	return strings.Contains(message, "\x00")
}

var patterns = []string{
	"", "a", "^a", "a$", "^$", "^a$", "a|b", "^(a|b)+$", "^a|b$", "(^a|b)", "a*?b", "a{2,3}", "(?:ab){2}c?", "[^a]", "[a-c]+", ".", "(?s)^.$", "(?m)^b$",
	`\bab\b`, `\B`, `^\d+$`, `\W`, "(?i)aB", "(?i)^straße$", "(?i)k", `\pL`, `\p{Greek}`, `^\x{10FFFF}`, `\Qa.b\E`, "(?P<x>a)b", "[[:alpha:]]", `\A\z`, "(?U)a+", "(|a)*", "(a|ab)(c|bcd)$", "(a*)*b", "é",
	"(", "a**", "[b-a]", `\8`, "a{1001}", "(?<x", `\pX`, "[a", strings.Repeat("a?", 60) + strings.Repeat("a", 60), "(a{30}){30}", "(?:a{100}){10}",
}

var texts = []string{
	"", "a", "b", "ab", "abc", "aab", "aaaa", "AB", "ba", "a\nb", "b\n", "\n", " ab ", "123", "a.b", "axb", "STRASSE", "Straße", "STRAẞE", "K", "\u212a", "α", "é", "e\u0301",
	"\xff", "a\xffb", "\xc3", "\U0010ffff", strings.Repeat("a", 59), strings.Repeat("a", 60), strings.Repeat("ab", 100), "abcd", "_", "x-y",
}

func TestRegexLikeRegexp(t *testing.T) {
	for _, p := range patterns {
		likeRegexp(t, p, texts...)
	}
}

func TestRegexLikeRegexpOnMixedPieces(t *testing.T) {
	piece := rapid.SampledFrom([]string{"a", "b", ".", "^", "$", "|", "(", ")", "(?:", "*", "+", "?", "{2}", "{0,3}", "[ab]", "[^a]", `\b`, `\B`, `\d`, "(?i)", "(?m)", "(?s)", "é", `\z`, "a*", "(a|b)"})
	text := rapid.SampledFrom([]string{"a", "b", "A", "é", "\n", "1", " ", "\xff"})
	rapid.Check(t, func(t *rapid.T) {
		p := strings.Join(rapid.SliceOfN(piece, 0, 10).Draw(t, "pattern"), "")
		likeRegexp(t, p, strings.Join(rapid.SliceOfN(text, 0, 12).Draw(t, "text"), ""))
	})
}

func FuzzRegexLikeRegexp(f *testing.F) {
	for i, p := range patterns {
		f.Add(p, texts[i%len(texts)])
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern) <= 1024 && len(text) < 10_000 {
			likeRegexp(t, pattern, text)
		}
	})
}

func TestRegexAllocatesNothing(t *testing.T) {
	x, err := Compile(`^/v[0-9]+/recommendations(/|$)`)
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { x.MatchString("/v12/recommendations/of/me") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkRegex(b *testing.B) {
	const pattern, text = `^/v[0-9]+/recommendations(/|$)`, "/v12/recommendations/of/me"
	b.Run("ours", func(b *testing.B) {
		x, err := Compile(pattern)
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			x.MatchString(text)
		}
	})
	b.Run("regexp", func(b *testing.B) {
		x := regexp.MustCompile(pattern)
		for b.Loop() {
			x.MatchString(text)
		}
	})
}

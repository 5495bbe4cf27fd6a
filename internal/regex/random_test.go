package regex

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// generator makes random expressions of every kind, and texts that have a chance
// to fit them.
type generator struct{ *rand.Rand }

func (g generator) of(list []string) string { return list[g.IntN(len(list))] }

var (
	characters = strings.Split(`a|a|a|a|a|a|b|b|b|b|b|b|c|k|K|s|S|é|É|ß|ẞ|ſ|σ|ς|Σ|θ|ϴ|ǆ|ǅ|Ж|ж|1|9|_|-| |\n|\t|/|x|z|Z|~|世|�|`+"\U0001e900|\U0001e922|\u0345|\u212a", "|")
	atoms      = strings.Split(`. . ^ $ \A \z \b \B \d \D \s \S \w \W \pL \PL \p{Lu} \p{^Lu} \P{Greek} \p{Greek} \pN \p{any} \p{uppercase-letter} \pZ \x41 \x{e9} \x{10ffff} \101 \07 \0 \t \n \r \v \f \a \. \* \_ \- \Qa.b\E \Q*\E \Q\E () (?:) {`, " ")
	bounds     = strings.Split(`* + ? * + ? * + ? *? +? ?? {0} {1} {2} {3} {0,} {1,} {2,} {0,1} {0,2} {1,3} {2,2}? {,2} {2,1} {1001} {30} { {x} {01}`, " ")
	flags      = strings.Split("i i m s U im is -i i-s ims-U -ms", " ")
	named7     = strings.Split("alpha ^alpha digit word ^space punct upper ^upper lower xdigit cntrl print graph blank ascii alnum nope", " ")
)

func (g generator) class() string {
	var b strings.Builder
	b.WriteString("[")
	if g.IntN(3) == 0 {
		b.WriteString("^")
	}
	if g.IntN(12) == 0 {
		b.WriteString("]")
	}
	for range 1 + g.IntN(3) {
		switch g.IntN(9) {
		case 0:
			b.WriteString("[:" + g.of(named7) + ":]")
		case 1:
			b.WriteString(g.of([]string{`\d`, `\W`, `\s`, `\pL`, `\PN`, `\p{Greek}`, `\x41`, `\x{1e900}`, `\n`, `\]`, `\b`}))
		case 2, 3:
			b.WriteString(g.of(characters) + "-" + g.of(characters))
		case 4:
			b.WriteString(g.of([]string{"a-z", "A-Z", "0-9", "-", "a-", "[", "b-y", "à-ÿ", "А-Я"}))
		default:
			b.WriteString(g.of(characters))
		}
	}
	return b.String() + "]"
}

func (g generator) expression(depth int) string {
	var b strings.Builder
	for i := range 1 + g.IntN(3) {
		if i > 0 {
			b.WriteString("|")
		}
		items := 1 + g.IntN(3)
		if g.IntN(10) == 0 {
			items = 0
		}
		for range items {
			switch k := g.IntN(20); {
			case k < 9:
				b.WriteString(g.of(characters))
			case k < 12:
				b.WriteString(g.of(atoms))
			case k < 14:
				b.WriteString(g.class())
			case k == 14:
				b.WriteString("(?" + g.of(flags) + ")")
			case depth > 0:
				b.WriteString(g.of([]string{"(", "(", "(?:", "(?:", "(?i:", "(?P<a>", "(?<b_1>"}) + g.expression(depth-1) + ")")
			}
			if g.IntN(6) == 0 {
				b.WriteString(g.of(bounds))
			}
		}
	}
	return b.String()
}

// text is random, or made of what stands in an expression.
func (g generator) text(pattern string) string {
	var b strings.Builder
	for range g.IntN(10) {
		switch g.IntN(4) {
		case 0:
			if runes := []rune(pattern); len(runes) > 0 {
				b.WriteRune(runes[g.IntN(len(runes))])
			}
		case 1:
			b.WriteString(g.of([]string{"\xff", "\n", "ab", "B", "\U0010ffff", "á", "Á"}))
		default:
			b.WriteString(g.of(characters))
		}
	}
	return b.String()
}

func TestRegexLikeRegexpOnRandomExpressions(t *testing.T) {
	fits, wrong := 0, 0
	for seed := range uint64(10_000) {
		g := generator{rand.New(rand.NewPCG(seed, 1))}
		pattern := g.of([]string{"", "", "^", "(?i)", "(?i)^"}) + g.expression(3)
		if g.IntN(6) == 0 {
			pattern += "$"
		}
		if g.IntN(20) == 0 && pattern != "" { // damaged
			at := g.IntN(len(pattern))
			pattern = pattern[:at] + g.of([]string{"", "(", ")", "[", `\`, "*", "{", "\xff", "(?"}) + pattern[at+1:]
		}
		texts := make([]string, 12)
		for i := range texts {
			texts[i] = g.text(pattern)
		}
		likeRegexp(t, pattern, texts...)
		if x, err := Compile(pattern); err != nil {
			wrong++
		} else {
			n := 0
			for _, s := range texts {
				if x.MatchString(s) {
					n++
				}
			}
			if 0 < n && n < len(texts) {
				fits++
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	// Too few that tell texts apart would prove nothing.
	if fits < 2000 || wrong < 500 || wrong > 5000 {
		t.Errorf("%d expressions tell two texts apart, %d are wrong", fits, wrong)
	}
}

package config

import (
	"strconv"
	"strings"

	"sluice/internal/jsontext"
	"sluice/internal/limit"
)

// MaxLimit is the largest number of a rate: what one bucket of a log counts to.
const MaxLimit = 1<<48 - 1

// Rate is one window that a limit enforces.
type Rate struct {
	Params limit.Params
	// Text is the rate as it was written.
	Text string
	// Name is what answers and metrics call it: the limit's name, followed by
	// the window where the limit has several.
	Name string
	// ID numbers the rates of a Policy that don't depend on a request, from 0.
	ID int
	// Pool says that it is no rate but a pool of Params.Limit units until
	// Params.UntilMS; see limit.Pool. Only a run-time override makes one.
	Pool bool
	// KeyHead and KeyTail begin and end the name of the counter in Redis; see
	// Limit.AppendKey.
	KeyHead, KeyTail string
	// LeaseUnits is how many units one lease takes at most; 0 where there are no
	// leases. See Enforced.
	LeaseUnits int64
	// Shards are the numbers of the counters that a key is divided into; nil for
	// one counter.
	Shards []limit.Params

	leased    *limit.Params
	keyMiddle string     // after the hash tag, where there is one
	counter   string     // what stands for the limit in KeyHead
	unit      limit.Unit // calendar's period that the window names, or noUnit
}

// parseRate reads N/unit or N/duration.
func parseRate(s string) (Rate, string) {
	const form = " is not a rate, such as 100/s, 1000/day or 5/250ms"
	left, right, ok := strings.Cut(s, "/")
	left, right = strings.TrimSpace(left), strings.TrimSpace(right)
	if !ok || left == "" || right == "" {
		return Rate{}, quote(s) + form
	}
	for i := 0; i < len(left); i++ {
		if left[i] < '0' || left[i] > '9' {
			if strings.HasPrefix(left, "-") {
				return Rate{}, quote(s) + ": a rate can't be negative"
			}
			if left[i] == '.' && i > 0 {
				return Rate{}, quote(s) + ": a rate's number is a whole one; a longer window does the same, such as 1/2s for 0.5/s"
			}
			return Rate{}, quote(s) + form
		}
	}
	n, err := strconv.ParseInt(left, 10, 64)
	if err != nil || n > MaxLimit {
		return Rate{}, quote(s) + ": a rate's number is at most 2^48 - 1"
	}
	unit, ms := calendarUnit(right)
	if unit != limit.Month && unit != limit.Year {
		var msg string
		if ms, msg = parseDuration(right, true); msg != "" {
			return Rate{}, quote(s) + ": " + msg
		}
	}
	if ms == 0 {
		return Rate{}, quote(s) + ": a rate's window is at least 1ms"
	}
	return Rate{Params: limit.Params{Limit: n, WindowMS: ms}, Text: s, unit: unit}, ""
}

// rate is a rate as a text.
//
//go:noinline
func rate() kind[Rate] {
	return worded("a rate", func(p *parser, v *jsontext.Value, s string, to *Rate) bool {
		r, msg := parseRate(s)
		if msg != "" {
			return p.suggest(v, msg, likelyRate(s))
		}
		*to = r
		return true
	}).as(Type{Name: "rate", Doc: "A number of units per window: `100/s`, `1000/day`, `5/250ms`, `20/15min`.",
		Pattern: "^ *[0-9]+ */ *((0*[1-9][0-9]*)? *" + unitPattern + "|1? *(months?|y|years?)) *$"})
}

// likelyRate is the rate that s was probably meant to be, or "".
func likelyRate(s string) string {
	fixed := s
	for _, r := range [...][2]string{{" per ", "/"}, {"r/", "/"}, {" requests/", "/"}, {"rps", "/s"}, {"rpm", "/min"}} {
		if before, after, ok := strings.Cut(fixed, r[0]); ok {
			fixed = before + r[1] + after
		}
	}
	if _, msg := parseRate(fixed); fixed == s || msg != "" {
		return ""
	}
	return fixed
}

// rates is what a limit's rate can be.
type rates struct {
	list []Rate
	from *RateFrom
}

// maxRates bounds the windows of one limit.
const maxRates = 16

// rateList is a rate or a list of them.
//
//go:noinline
func rateList() kind[[]Rate] {
	list := oneOrList(rate())
	return kind[[]Rate]{newKind(func(p *parser, v *jsontext.Value, to *[]Rate) bool {
		if !list.read(p, v, to) {
			return false
		}
		if len(*to) > maxRates {
			*to = nil
			return p.fail(v, "a limit has at most "+strconv.Itoa(maxRates)+" rates")
		}
		return true
	}).like(list.reader)}
}

// anyRate is a rate, a list of rates, or where the request has its own.
//
//go:noinline
func anyRate() kind[rates] {
	fixed := rateList()
	k := newKind(func(p *parser, v *jsontext.Value, to *rates) bool {
		if v.Kind != jsontext.Object {
			return fixed.read(p, v, &to.list)
		}
		f := new(RateFrom)
		if !rateFromTable.read(p, v, f) {
			return false
		}
		*to = rates{list: []Rate{f.Default}, from: f}
		return true
	})
	if described {
		k.typ = &Type{Kind: AnyOfType, AnyOf: append([]*Type{rateFromTable.typ()}, fixed.typ.AnyOf...)}
	}
	return k
}

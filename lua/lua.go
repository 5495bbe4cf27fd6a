// Package lua holds the scripts that decide in Redis, one file an algorithm,
// and composes those that a configuration needs into one.
//
// # The call
//
// KEYS has one key for each counter, each named once.
//
// ARGV[1] is the clock: "" to use Redis's TIME, read once, or microseconds
// since the epoch. ARGV[2] is the request's id, unique among requests. Then,
// for each counter in the order of KEYS: the algorithm's index in the script
// (Script.Index), the op, the cost, and the numbers that limit.Algorithm.Args
// appends. All numbers are whole, decimal, from 0 to 2^53.
//
// A cost of 0 looks for room for 1 and charges nothing.
//
//	op 0 OpDecide        votes; charged when every vote admits
//	op 1 OpShadow        doesn't vote; charged when every vote and it itself admit
//	op 2 OpCharge        doesn't vote; charged, even above the limit
//	op 3 OpRefund        doesn't vote; returns cost units, the youngest first,
//	                     never below zero
//	op 4 OpDecideCount   as 0, but what this counter itself refuses is charged too
//	op 5 OpShadowCount   as 1, but what this counter itself refuses is charged too
//
// # The reply
//
// Whole numbers: the time of the decision in us, 1 when every vote admitted or
// else 0, then for each counter: admitted (its own word; 1 for ops 2 and 3),
// current, remaining, reset_ms, retry_after_ms, as in limit.Decision. Figures
// are those after the charge, or of the unchanged state when nothing was
// charged. A queue that admits says in retry_after_ms how long to hold the
// request.
//
// Wrong arguments, a key named twice and a stored value of another kind are an
// error reply that starts with "ERR sluice:" (or Redis's WRONGTYPE); nothing
// was written then: every counter is read and checked before the first write.
// A refused request changes no stored state, with three exceptions: ops 4 and 5
// record it, a penalty starts, and a log whose clock stepped back or whose
// window changed is stored in its new form.
//
// # Two algorithms of their own kind
//
// concurrency holds a slot for ARGV[2] at its cost: sent again, the request holds
// it once; op 3 must come with the same id and cost, and releases just that.
//
// penalty (limit.Penalty) is a guard beside another counter of the same call,
// with a key of its own and cost 0: see there.
//
// # Clocks that step back
//
// A step of at most 3 s (gateways with clocks of their own may differ by that)
// leaves stamps where they are, and time stands still for the counter until the
// clock has caught up. After a longer one the counter's stamps move back with
// the clock, so that it isn't locked for longer than its window. Neither admits
// more than the limit.
package lua

import (
	"crypto/sha1"
	"embed"
	"slices"
	"strings"
)

// What a call does with a counter.
const (
	OpDecide = iota
	OpShadow
	OpCharge
	OpRefund
	OpDecideCount
	OpShadowCount
)

//go:embed *.lua
var files embed.FS

// use begins the first line of an algorithm's file that needs a shared part.
const use = "--@use "

// Script is a composed script.
type Script struct {
	Source string // what EVAL and SCRIPT LOAD take
	SHA    string // its SHA-1 in hex, what EVALSHA takes
	names  []string
}

// Compose joins the algorithms named (limit.Algorithm.Script) into one script,
// in the order given, each once. It panics on a name that has no file.
func Compose(names ...string) Script {
	var s Script
	var b strings.Builder
	shrink(&b, text("prelude"))
	var shared []string
	for _, name := range names {
		if slices.Contains(s.names, name) {
			continue
		}
		s.names = append(s.names, name)
		source := text(name)
		if first, rest, _ := strings.Cut(source, "\n"); strings.HasPrefix(first, use) {
			source = rest
			if part := strings.TrimPrefix(first, use); !slices.Contains(shared, part) {
				shared = append(shared, part)
				shrink(&b, text(part))
			}
		}
		b.WriteString("do\n")
		shrink(&b, source)
		b.WriteString("end\n")
	}
	shrink(&b, text("driver"))
	s.Source = b.String()
	s.SHA = sha(s.Source)
	return s
}

// sha is the name that EVALSHA knows a script by. Package encoding/hex would
// bring fmt into the module.
func sha(source string) string {
	const digits = "0123456789abcdef"
	sum := sha1.Sum([]byte(source))
	hex := make([]byte, 0, 2*len(sum))
	for _, b := range sum {
		hex = append(hex, digits[b>>4], digits[b&15])
	}
	return string(hex)
}

// text is a script's file. Names come from the registry in package limit, never
// from a user, so that a missing one is a mistake in this program.
func text(name string) string {
	b, err := files.ReadFile(name + ".lua")
	if err != nil {
		panic("lua: no script named " + name)
	}
	return string(b)
}

// Index is the number that ARGV names the algorithm by, from 1; 0 when the
// script doesn't hold it.
func (s *Script) Index(name string) int {
	return slices.Index(s.names, name) + 1
}

// shrink appends text without indentation, blank lines and comments. No string
// in our scripts holds "--".
func shrink(b *strings.Builder, text string) {
	for line := range strings.Lines(text) {
		if i := strings.Index(line, "--"); i >= 0 {
			line = line[:i]
		}
		if line = strings.TrimSpace(line); line != "" {
			b.WriteString(line)
			b.WriteByte('\n')
		}
	}
}

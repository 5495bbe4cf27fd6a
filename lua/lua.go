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
// Where ARGV[2] is "+", the call is for several requests. For each of them come the
// number of its keys, the number of its arguments, its id, and those arguments; KEYS
// has the keys of all, in order, and each request's keys are named once. They are
// decided one after the other, at one time.
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
//	op 6 OpUndo          doesn't vote; returns what an earlier call with this cost
//	                     charged, and only that: after the numbers come the time
//	                     of that call, us, and the counter's current in its reply
//
// A refund returns the youngest units, which may be others'; what stays then
// leaves the window a little too early. Undo is exact: under the same request id,
// units that still count are returned, and no others, so that a charge that is
// undone soon is as if it had never been made.
//
// # The reply
//
// Whole numbers: the time of the decision in us, 1 when every vote admitted or
// else 0, then for each counter: admitted (its own word; 1 for ops 2, 3 and 6),
// current, remaining, reset_ms, retry_after_ms, as in limit.Decision. Figures
// are those after the charge, or of the unchanged state when nothing was
// charged. A queue that admits says in retry_after_ms how long to hold the
// request.
//
// For several requests it is an array of their replies. One's error is in its place;
// the others are decided. Only numbers of keys and arguments that don't add up are an
// error of the whole call.
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
// # Two ways through a script
//
// In Redis a script's functions are made anew by each call, which once was half of
// a call's cost. So each script decides what nearly all calls are in one run of
// statements (short.lua, and what follows --@short in an algorithm's file), without
// functions, and leaves all else to a general way (driver.lua and the rest of that
// file), which can do everything and makes only what the call needs. An algorithm works without a short way; with one
// both ways give the same results, and the tests run each alone.
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
	"slices"
	"strconv"
	"strings"

	"sluice/internal/digest"
)

// What a call does with a counter.
const (
	OpDecide = iota
	OpShadow
	OpCharge
	OpRefund
	OpDecideCount
	OpShadowCount
	OpUndo
)

// Script is a composed script.
type Script struct {
	Source string // what EVAL and SCRIPT LOAD take
	SHA    string // its SHA-1 in hex, what EVALSHA takes
	names  []string
}

// Lines that stand for other text in a file.
const (
	use        = "--@use "       // the file named
	algorithms = "--@algorithms" // a branch for each algorithm
	shortcuts  = "--@shortcuts"  // a branch for each algorithm that has a short way
	ways       = "--@ways"       // the functions short and general
)

// short stands before the name of an algorithm's file to mean its short way,
// which is what follows the line marker in it.
const (
	short  = "short "
	marker = "--@short\n"
)

// Compose joins the algorithms named (limit.Algorithm.Script) into one script,
// in the order given, each once. It panics on a name that has no file.
func Compose(names ...string) Script {
	var s Script
	for _, name := range names {
		if !slices.Contains(s.names, name) {
			s.names = append(s.names, name)
		}
	}
	c := composer{names: s.names}
	c.add("call")
	s.Source = c.out.String()
	s.SHA = sha(s.Source)
	return s
}

// sha is the name that EVALSHA knows a script by. Package encoding/hex would
// bring fmt into the module.
func sha(source string) string {
	const digits = "0123456789abcdef"
	sum := digest.SHA1([]byte(source))
	hex := make([]byte, 0, 2*len(sum))
	for _, b := range sum {
		hex = append(hex, digits[b>>4], digits[b&15])
	}
	return string(hex)
}

// composer writes a script.
type composer struct {
	names []string
	out   strings.Builder
}

// add appends a file without indentation, blank lines and comments, and with
// other text in the place of the lines that stand for it. No string in our
// scripts holds "--".
func (c *composer) add(name string) {
	for line := range strings.Lines(text(name)) {
		line = strings.TrimSpace(line)
		switch part, ok := strings.CutPrefix(line, use); {
		case ok:
			c.add(part)
			continue
		case line == algorithms:
			c.branches("i==", "", "", "nil")
			continue
		case line == shortcuts:
			c.branches("g=='", "'", short, "nil")
			continue
		case line == ways:
			c.ways()
			continue
		}
		if i := strings.Index(line, "--"); i >= 0 {
			line = strings.TrimSpace(line[:i])
		}
		if line != "" {
			c.line(bytewise(line))
		}
	}
}

// ways appends both ways as functions. Functions are made anew by each call, so
// what they need comes as arguments: what a function takes from outside is stored
// anew, too.
func (c *composer) ways() {
	const arguments = "(now,ms,id,first,last,p,stop,V,put)"
	c.line("local function general" + arguments)
	c.add("general")
	c.add("driver")
	c.line("end")
	c.line("local function short" + arguments)
	if slices.ContainsFunc(c.names, hasShort) {
		c.add("short")
	}
	c.line("end")
}

// branches appends the file of each algorithm, its name behind prefix, under the
// condition that the text before and after makes of its index, and returns
// otherwise where none holds.
func (c *composer) branches(before, after, prefix, otherwise string) {
	word, end := "if ", ""
	for i, name := range c.names {
		if prefix == short && !hasShort(name) {
			continue
		}
		c.line(word + before + strconv.Itoa(i+1) + after + " then")
		c.add(prefix + name)
		word, end = "elseif ", "end"
	}
	if end != "" {
		c.line("else")
	}
	c.line("return " + otherwise)
	c.line(end)
}

// bytewise writes out the three short forms for numbers that are stored as n
// bytes, the highest first. Functions would do it, too, but cost more than all
// else in a script (see short.lua).
//
//	$bytesN(x)  the bytes of x, for string.char: x/256,x%256
//	$varsN(x)   variables for them, from string.byte: x1,x2
//	$numN(x)    the number that those variables are: (x1*256+x2)
func bytewise(line string) string {
	for {
		before, form, ok := strings.Cut(line, "$")
		word, rest, call := strings.Cut(form, "(")
		x, after, closed := strings.Cut(rest, ")")
		if !ok || !call || !closed || len(word) < 4 {
			return line
		}
		n := int(word[len(word)-1] - '0')
		var out string
		for i := 1; i <= n; i++ {
			digit := strconv.Itoa(i)
			switch word[:len(word)-1] {
			case "bytes":
				out += "," + x
				if i < n {
					out += "/" + strconv.FormatInt(1<<(8*(n-i)), 10)
				}
				if i > 1 {
					out += "%256"
				}
			case "vars":
				out += "," + x + digit
			case "num":
				if i == 1 {
					out = x + digit
				} else {
					out = "(" + out + "*256+" + x + digit + ")"
				}
			}
		}
		line = before + strings.TrimPrefix(out, ",") + after
	}
}

func (c *composer) line(s string) {
	c.out.WriteString(s)
	c.out.WriteByte('\n')
}

// text is a script's file, or, behind short, its short way. Names come from the registry in package limit, never
// from a user, so that a missing one is a mistake in this program.
func text(name string) string {
	name, wantShort := strings.CutPrefix(name, short)
	whole, ok := file(name)
	if !ok {
		panic("lua: no script named " + name)
	}
	general, shortWay, found := strings.Cut(whole, marker)
	switch {
	case !wantShort:
		return general
	case !found:
		panic("lua: no short way in " + name)
	}
	return shortWay
}

// hasShort reports whether the algorithm has a short way.
func hasShort(name string) bool {
	whole, ok := file(name)
	return ok && strings.Contains(whole, marker)
}

// Index is the number that ARGV names the algorithm by, from 1; 0 when the
// script doesn't hold it.
func (s *Script) Index(name string) int {
	return slices.Index(s.names, name) + 1
}

// Package override is the language of run-time overrides: what an operator says
// about a limit, or about one of its callers, for a time. They are stored in
// Redis, one field of a hash each; every gateway reads the hash about once a
// second. The package knows the text only; package engine gives it its meaning.
//
// A field is the limit's name, for all its callers, or the name, a bar and the
// key's values as they stand in the name of the caller's counter. A name that
// ends with a window (per-ip-1h) means just that window of the limit.
//
// The value is when the override ends, in ms of Redis's clock since the epoch,
// a space, and one of
//
//	rate 500/s                rate 500/s 9000/hour burst 600
//	max 20                    of a concurrency limit
//	unlimited                 not counted
//	block                     rejected without a call
//	shadow                    counted, never rejected
//	pool 1000                 degraded: so many units until the end
package override

import (
	"errors"
	"strconv"
	"strings"
)

// Bounds of what gateways read.
const (
	// MaxEntries is how many overrides may be in force at a time.
	MaxEntries = 1000
	// MaxBytes is how long all of them may be together.
	MaxBytes = 256 << 10
	// MaxField is how long a field may be, bytes.
	MaxField = 2048
	// MaxValue is how long a value may be, bytes.
	MaxValue = 512
	// MaxForMS is for how long one may hold: 30 days.
	MaxForMS = 30 * 86_400_000
)

// Key is the name of the hash under a prefix.
func Key(prefix string) string { return prefix + ":{sluice}:set1" }

// Kind is what an override does.
type Kind uint8

const (
	Rate Kind = iota + 1
	Max
	Unlimited
	Block
	Shadow
	Pool
)

var kindNames = [...]string{"", "rate", "max", "unlimited", "block", "shadow", "pool"}

// String is the kind's word.
func (k Kind) String() string { return kindNames[k] }

// Spec is what an override says.
type Spec struct {
	Kind  Kind
	Rates []string // Rate: at least one, each without spaces
	Burst int64    // Rate: 0 leaves it as it is
	N     int64    // Max: how many; Pool: units
}

// maxNumber is the largest number of a Spec: 2^48 - 1, as of a configuration.
const maxNumber = 1<<48 - 1

// maxRates is how many windows one override may have.
const maxRates = 16

// String is what ParseSpec reads.
func (s Spec) String() string {
	b := s.Kind.String()
	switch s.Kind {
	case Rate:
		for _, r := range s.Rates {
			b += " " + r
		}
		if s.Burst > 0 {
			b += " burst " + strconv.FormatInt(s.Burst, 10)
		}
	case Max, Pool:
		b += " " + strconv.FormatInt(s.N, 10)
	}
	return b
}

// ParseSpec reads what an override says.
func ParseSpec(text string) (Spec, error) {
	if len(text) > MaxValue {
		return Spec{}, errors.New("longer than 512 bytes")
	}
	words := strings.Split(text, " ")
	var s Spec
	for k, name := range kindNames {
		if k > 0 && name == words[0] {
			s.Kind = Kind(k)
		}
	}
	rest := words[1:]
	var err error
	switch s.Kind {
	case 0:
		return Spec{}, errors.New("begins with none of rate, max, unlimited, block, shadow and pool")
	case Rate:
		if n := len(rest); n > 2 && rest[n-2] == "burst" {
			if s.Burst, err = number(rest[n-1], 1); err != nil {
				return Spec{}, err
			}
			rest = rest[:n-2]
		}
		if len(rest) == 0 || len(rest) > maxRates {
			return Spec{}, errors.New("rate needs 1 to 16 rates, such as 500/s")
		}
		for _, r := range rest {
			if r == "" || r == "burst" {
				return Spec{}, errors.New("rate needs rates, such as 500/s, and perhaps burst and a number")
			}
		}
		s.Rates = rest
		return s, nil
	case Max, Pool:
		if len(rest) == 0 {
			return Spec{}, errors.New(s.Kind.String() + " needs a number")
		}
		if s.N, err = number(rest[0], 0); err != nil {
			return Spec{}, err
		}
		rest = rest[1:]
	}
	if len(rest) > 0 {
		return Spec{}, errors.New("has more words than " + s.Kind.String() + " takes")
	}
	return s, nil
}

func number(text string, least int64) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least || n > maxNumber || text[0] == '+' {
		return 0, errors.New("a number goes from " + strconv.FormatInt(least, 10) + " to 2^48 - 1")
	}
	return n, nil
}

// Target is what an override is about.
type Target struct {
	Name   string // a limit's, or that of one of its windows
	Keyed  bool   // it is about one caller
	Values string // the key's values, as they stand in the counter's name
}

// Field is the target's field in the hash.
func (t Target) Field() string {
	if !t.Keyed {
		return t.Name
	}
	return t.Name + "|" + t.Values
}

// ParseField reads a field.
func ParseField(field string) (Target, error) {
	if len(field) > MaxField {
		return Target{}, errors.New("its field is longer than 2048 bytes")
	}
	for i := range len(field) {
		if c := field[i]; c <= ' ' || c >= 0x7f || c == '{' || c == '}' || c == ':' {
			return Target{}, errors.New("its field has bytes that no name and no key's value has")
		}
	}
	var t Target
	t.Name, t.Values, t.Keyed = strings.Cut(field, "|")
	if t.Name == "" {
		return Target{}, errors.New("its field names no limit")
	}
	return t, nil
}

// Entry is one override.
type Entry struct {
	Target
	Spec
	UntilMS int64 // of Redis's clock
}

// Value is the entry's value in the hash.
func (e Entry) Value() string { return strconv.FormatInt(e.UntilMS, 10) + " " + e.Spec.String() }

// ParseEntry reads a field and its value.
func ParseEntry(field, value string) (Entry, error) {
	var e Entry
	var err error
	if e.Target, err = ParseField(field); err != nil {
		return e, err
	}
	until, text, _ := strings.Cut(value, " ")
	e.UntilMS, err = strconv.ParseInt(until, 10, 64)
	if err != nil || e.UntilMS < 1 || e.UntilMS > maxUntilMS {
		return e, errors.New("begins with no time in ms")
	}
	e.Spec, err = ParseSpec(text)
	return e, err
}

// maxUntilMS is the latest end: where whole microseconds end in a double.
const maxUntilMS = 1 << 52 / 1000

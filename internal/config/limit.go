package config

import (
	"sluice/internal/key"
	"sluice/internal/limit"
	"sluice/internal/match"
)

// Limit is one limit, compiled. It is immutable.
type Limit struct {
	Name  string
	Index int // in Policy.Limits
	// Match picks the requests that the limit is for, Except those of them that
	// it isn't for.
	Match  *match.Matcher
	Except []*match.Matcher
	// Group is a name: of the limits of one group only the first that matches
	// applies. "" for none.
	Group string
	// Key names the counter of a request; nil for one that all share.
	Key       *key.Key
	Missing   Missing
	Algorithm *limit.Algorithm
	// Rates are the windows that all have to hold, at least one. Overrides and
	// RateFrom may say otherwise for a request: see Variant.
	Rates     []Rate
	RateFrom  *RateFrom // nil where the rates are fixed
	Overrides []Override
	Cost      Cost
	Settle    *Settle // nil where the answer doesn't matter
	// PenaltyUS is how long a key stays rejected after exceeding, microseconds.
	PenaltyUS int64
	// CountRejected charges what this limit itself rejects.
	CountRejected bool
	Scope         Scope
	// HashTag is what is the Redis Cluster hash tag of a request; nil for the
	// limit's name and key.
	HashTag *key.Key
	OnError OnError
	Reject  Reject
	// HideHeaders keeps the limit out of answers' rate-limit headers.
	HideHeaders bool
	Hot         *Hot
	// Shadow limits count and report but never reject.
	Shadow bool
	// Enforce is the share of keys that the limit may reject, in hundredths of
	// a percent; see Enforced.
	Enforce int64
	// Tag marks requests instead of rejecting them; nil for rejecting.
	Tag *Tag

	base          Variant
	overrideIndex *match.Index
	exceptIndex   *match.Index
}

// Scope says who counts together.
type Scope byte

// Scopes.
const (
	ScopeGlobal  Scope = iota // all gateways, in Redis
	ScopeGateway              // this gateway only
)

// draft is a limit as its fields were read, before they are put together.
type draft struct {
	Limit
	rates     rates
	algorithm string
	storage   string
	onError   *OnError
	reject    *Reject
	options   givenOptions
}

var limitTable = &table[draft]{
	name: "limit",
	doc:  "One limit: which requests it is for, whose counter they share, and how many are admitted.",
	fields: append([]field[draft]{
		must(row("name", text(Type{Pattern: "^[a-z0-9][a-z0-9_-]{0,62}$"}, limitName), "", "Unique; appears in headers, metrics and keys.",
			func(t *draft, v string) { t.Name = v })),
		row("match", limitMatch(), "", "Which requests the limit is for; default all.",
			func(t *draft, v *match.Matcher) { t.Match = v }),
		row("except", oneOrList(conditions()), "", "Which of them it is not for: conditions, or a list of those of which one has to hold.",
			func(t *draft, v []*match.Matcher) { t.Except = v }),
		row("group", text(Type{Pattern: "^[a-z0-9][a-z0-9_-]{0,62}$"}, limitName), "", "Of the limits of one group only the first that matches applies.",
			func(t *draft, v string) { t.Group = v }),
		row("key", keyParts(), "", "What has a counter of its own; default one counter for all.",
			func(t *draft, v *key.Key) { t.Key = v }),
		row("missing", missing(), `"share"`, "A request lacks a part of the key: all such requests share a counter, or the limit doesn't apply, or the request is refused.",
			func(t *draft, v Missing) { t.Missing = v }),
		row("rate", anyRate(), "", "How many units are admitted in a window; a list is several windows, all of which hold.",
			func(t *draft, v rates) { t.rates = v }),
		row("algorithm", text(Type{Enum: algorithmNames()}, nil), `"sliding_log"`, "How units are counted.",
			func(t *draft, v string) { t.algorithm = v }),
		row("storage", text(Type{Enum: storageNames()}, nil), "", "sliding_log: how the log is kept in Redis; default `compact`.",
			func(t *draft, v string) { t.storage = v }),
		row("cost", cost(), "1", "How many units a request counts; 0 looks for room and charges nothing.",
			func(t *draft, v Cost) { t.Cost = v }),
		row("settle", settleTable.kind(), "", "How the charge is corrected after the answer.",
			func(t *draft, v Settle) { t.Settle = &v }),
		row("overrides", overrides(), "", "Other numbers for some requests.",
			func(t *draft, v []Override) { t.Overrides = v }),
		row("penalty", duration(1, maxMS), "", "How long a key stays rejected after exceeding the limit.",
			func(t *draft, v int64) { t.PenaltyUS = v * 1000 }),
		row("count_rejected", boolean(), "false", "What this limit itself rejects counts too.",
			func(t *draft, v bool) { t.CountRejected = v }),
		row("scope", enum([]choice[Scope]{{"global", ScopeGlobal}, {"gateway", ScopeGateway}}), `"global"`, "Who counts together: all gateways, or each for itself, its workers together, without Redis.",
			func(t *draft, v Scope) { t.Scope = v }),
		row("hash_tag", hashTag(), "", "A source whose value becomes the Redis Cluster hash tag: limits with the same one share a slot, and so one atomic call.",
			func(t *draft, v *key.Key) { t.HashTag = v }),
		row("on_error", onErrorKind(), "", "As the global one, for this limit.",
			func(t *draft, v OnError) { t.onError = &v }),
		row("reject", limitReject(), "", "As the global one, for this limit; what it leaves out is as there.",
			func(t *draft, v Reject) { t.reject = &v }),
		row("headers", boolean(), "true", "Answers' rate-limit headers tell of this limit.",
			func(t *draft, v bool) { t.HideHeaders = !v }),
		row("hot", hotTable.kind(), "", "What is done about a key that very many requests share.",
			func(t *draft, v Hot) { t.Hot = &v }),
		row("shadow", boolean(), "false", "Counts and reports, never rejects.",
			func(t *draft, v bool) { t.Shadow = v }),
		row("enforce", percent(), `"100%"`, "The share of keys that may be rejected.",
			func(t *draft, v int64) { t.Enforce = v }),
		row("tag", tagTable.kind(), "", "Marks requests instead of rejecting them.",
			func(t *draft, v Tag) { t.Tag = &v }),
	}, optionRows()...),
	finish: finishLimit,
}

func limitName(s string) string {
	ok := s != "" && len(s) <= 63 && s[0] != '_' && s[0] != '-'
	for i := 0; i < len(s) && ok; i++ {
		c := s[i]
		ok = 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '_' || c == '-'
	}
	if !ok {
		return "a name has 1 to 63 small letters, digits, _ and -, and begins with a letter or digit"
	}
	return ""
}

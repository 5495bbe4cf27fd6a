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

var defaultLimit draft

var limitTable = newTable("limit", "One limit: which requests it is for, whose counter they share, and how many are admitted.", &defaultLimit, append([]*field{
	must(row("name", &defaultLimit.Name, limitName(), "", "Unique; appears in headers, metrics and keys.")),
	row("match", &defaultLimit.Match, limitMatch(), "", "Which requests the limit is for; default all."),
	row("except", &defaultLimit.Except, oneOrList(conditions()), "", "Which of them it is not for: conditions, or a list of those of which one has to hold."),
	row("group", &defaultLimit.Group, limitName(), "", "Of the limits of one group only the first that matches applies."),
	row("key", &defaultLimit.Key, keyParts(), "", "What has a counter of its own; default one counter for all."),
	row("missing", &defaultLimit.Missing, missing(), `"share"`, "A request lacks a part of the key: all such requests share a counter, or the limit doesn't apply, or the request is refused."),
	row("rate", &defaultLimit.rates, anyRate(), "", "How many units are admitted in a window; a list is several windows, all of which hold."),
	row("algorithm", &defaultLimit.algorithm, algorithmName(), `"sliding_log"`, "How units are counted."),
	row("storage", &defaultLimit.storage, storageName(), "", "sliding_log: how the log is kept in Redis; default `compact`."),
	row("cost", &defaultLimit.Cost, cost(), "1", "How many units a request counts; 0 looks for room and charges nothing."),
	row("settle", &defaultLimit.Settle, pointer(settleTable.kind()), "", "How the charge is corrected after the answer."),
	row("overrides", &defaultLimit.Overrides, overrides(), "", "Other numbers for some requests."),
	row("penalty", &defaultLimit.PenaltyUS, durationUS(1, maxMS), "", "How long a key stays rejected after exceeding the limit."),
	row("count_rejected", &defaultLimit.CountRejected, boolean(), "false", "What this limit itself rejects counts too."),
	row("scope", &defaultLimit.Scope, enum[Scope]("global", "gateway"), `"global"`, "Who counts together: all gateways, or each for itself, its workers together, without Redis."),
	row("hash_tag", &defaultLimit.HashTag, hashTag(), "", "A source whose value becomes the Redis Cluster hash tag: limits with the same one share a slot, and so one atomic call."),
	row("on_error", &defaultLimit.onError, pointer(onError()), "", "As the global one, for this limit."),
	row("reject", &defaultLimit.reject, pointer(limitReject()), "", "As the global one, for this limit; what it leaves out is as there."),
	row("headers", &defaultLimit.HideHeaders, not(), "true", "Answers' rate-limit headers tell of this limit."),
	row("hot", &defaultLimit.Hot, pointer(hotTable.kind()), "", "What is done about a key that very many requests share."),
	row("shadow", &defaultLimit.Shadow, boolean(), "false", "Counts and reports, never rejects."),
	row("enforce", &defaultLimit.Enforce, percent(), `"100%"`, "The share of keys that may be rejected."),
	row("tag", &defaultLimit.Tag, pointer(tagTable.kind()), "", "Marks requests instead of rejecting them."),
}, optionRows(&defaultLimit.options)...), finishLimit)

// limitName is the name of a limit, or of a group of them.
func limitName() kind[string] {
	return text(checkName).as(Type{Pattern: "^[a-z0-9][a-z0-9_-]{0,62}$"})
}

func checkName(s string) string {
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

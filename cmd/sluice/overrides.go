package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/internal/config"
	"sluice/internal/engine"
	"sluice/internal/explain"
	"sluice/internal/inspect"
	"sluice/internal/operate"
)

// inForce reads the overrides at run time. Where Redis refuses to tell them, as it
// does to a user without the right, the answer says so in note, and none is in
// force: gateways that it refuses have none, either.
func inForce(ctx context.Context, rdb redis.UniversalClient, policy *config.Policy, prefix string) (f *operate.InForce, note string, err error) {
	op := operate.Operator{Redis: rdb, Prefix: prefix, Policy: policy}
	f, err = op.Load(ctx)
	var reply redis.Error
	if !errors.As(err, &reply) {
		return f, "", err
	}
	f = &operate.InForce{Now: time.Now()}
	if policy != nil {
		f.Engine = engine.New(policy)
	}
	return f, "overrides at run time can't be read: " + err.Error(), nil
}

// left is how long something lasts that ends at untilMS.
func left(untilMS, nowMS int64) string {
	return short(time.Duration(max(untilMS-nowMS, 0)) * time.Millisecond)
}

// runTime is an override as a line says it.
func runTime(o *explain.RunTime, nowMS int64) string {
	who := "all callers"
	if o.Key != nil {
		who = "this caller"
	}
	return fmt.Sprintf("set at run time for %s: %s, until %s (%s left)",
		who, o.Override, time.UnixMilli(o.UntilMS).UTC().Format("2006-01-02 15:04:05 UTC"), left(o.UntilMS, nowMS))
}

// printOverrides lists the overrides at run time.
func printOverrides(p *printer, all []inspect.Override) {
	if len(all) == 0 {
		return
	}
	p.line("\noverrides at run time:")
	rows := [][]string{{"LIMIT", "KEY", "OVERRIDE", "ENDS IN", ""}}
	for _, o := range all {
		who, note := "all", ""
		if o.Values != nil {
			who = safe(strings.Join(o.Values, "|"))
		}
		if o.Problem != "" {
			note = "skipped: " + safe(o.Problem)
		}
		rows = append(rows, []string{safe(o.Limit), who, o.Override, left(o.LeftMS, 0), note})
	}
	p.table("  ", rows)
}

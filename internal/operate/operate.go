// Package operate is what the tool's set, unset and reset do in Redis: it stores
// run-time overrides where every gateway reads them, and deletes counters. It is
// for the tool only.
package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/internal/config"
	"sluice/internal/engine"
	"sluice/internal/override"
)

// Operator works on one Redis.
type Operator struct {
	Redis  redis.UniversalClient
	Prefix string
	// Policy is the configuration that gateways run; nil when it isn't known.
	Policy *config.Policy
}

// Held is an override in Redis.
type Held struct {
	Field   string
	Entry   override.Entry
	Problem error // gateways skip it
}

// setScript stores one override and drops those that ended. KEYS[1] is the hash;
// ARGV: the field, for how many ms, and what it says. It returns when it ends, how
// many there are now, and what it replaced.
var setScript = redis.NewScript(`local t=redis.call('TIME')
local ms=t[1]*1000+math.floor(t[2]/1000)
if redis.call('HLEN',KEYS[1])>4000 then
return redis.error_reply('ERR sluice: '..KEYS[1]..' holds more than 4000 fields, which no sluice wrote: look at it, or remove all overrides with sluice unset --all')
end
local till=ms+tonumber(ARGV[2])
local last,n,size=till,1,#ARGV[1]+#ARGV[3]+20
local old,cursor='','0'
repeat
local r=redis.call('HSCAN',KEYS[1],cursor,'COUNT',500)
cursor=r[1]
for i=1,#r[2],2 do
local f,v=r[2][i],r[2][i+1]
local e=string.match(v,'^(%d+) ')
e=e and tonumber(e)
if f==ARGV[1] then
if e and e>ms then old=v end
elseif e and e>ms then
n=n+1
size=size+#f+#v+2
if e>last and e<4503599627370 then last=e end
else
redis.call('HDEL',KEYS[1],f)
end
end
until cursor=='0'
if n>1000 or size>262144 then
return redis.error_reply('ERR sluice: gateways take 1000 overrides and 256 kB of them: remove some with sluice unset')
end
redis.call('HSET',KEYS[1],ARGV[1],string.format('%.0f',till)..' '..ARGV[3])
redis.call('PEXPIREAT',KEYS[1],string.format('%.0f',last+1000))
return {string.format('%.0f',till),n,old}`)

// Set stores an override that holds for so long from now, by Redis's clock. It
// returns when that ends, how many overrides there are, and what it replaced: ""
// for nothing.
func (o *Operator) Set(ctx context.Context, t override.Target, s override.Spec, hold time.Duration) (until time.Time, count int64, replaced string, err error) {
	if err = o.Check(t, s); err != nil {
		return
	}
	reply, err := setScript.Run(ctx, o.Redis, []string{override.Key(o.Prefix)}, t.Field(), hold.Milliseconds(), s.String()).Slice()
	if err != nil {
		return
	}
	if len(reply) != 3 {
		err = errors.New("the script's reply has a wrong shape")
		return
	}
	ms, err := strconv.ParseInt(fmt.Sprint(reply[0]), 10, 64)
	count, _ = reply[1].(int64)
	_, replaced, _ = strings.Cut(fmt.Sprint(reply[2]), " ")
	return time.UnixMilli(ms), count, replaced, err
}

// Check reports why gateways would skip an override, or nil.
func (o *Operator) Check(t override.Target, s override.Spec) error {
	e := override.Entry{Target: t, Spec: s, UntilMS: 1}
	if _, err := override.ParseEntry(e.Field(), e.Value()); err != nil {
		return err
	}
	for _, r := range s.Rates {
		if err := config.CheckRate(r); err != nil {
			return err
		}
	}
	if o.Policy == nil {
		return nil
	}
	if err := o.knows(t.Name); err != nil {
		return err
	}
	if err := engine.CheckOverride(o.Policy, e); err != nil {
		return fmt.Errorf("limit %s: %w", t.Name, err)
	}
	return nil
}

// knows reports that the configuration has no such limit, and what may have been
// meant.
func (o *Operator) knows(name string) error {
	rt := o.Policy.RunTime(0)
	if l, _ := rt.Named(name); l != nil {
		return nil
	}
	names := rt.Names()
	if near := config.Suggest(name, names); near != "" {
		return fmt.Errorf("the configuration has no limit %q; did you mean %s?", name, near)
	}
	const most = 10
	if len(names) > most {
		names = append(names[:most:most], "…")
	}
	return fmt.Errorf("the configuration has no limit %q; it has %s", name, strings.Join(names, ", "))
}

// Unset removes an override and reports whether there was one.
func (o *Operator) Unset(ctx context.Context, t override.Target) (bool, error) {
	n, err := o.Redis.HDel(ctx, override.Key(o.Prefix), t.Field()).Result()
	return n > 0, err
}

// UnsetAll removes all overrides.
func (o *Operator) UnsetAll(ctx context.Context) (bool, error) {
	n, err := o.Redis.Unlink(ctx, override.Key(o.Prefix)).Result()
	return n > 0, err
}

// List returns the overrides that hold, Redis's time, and how many entries
// gateways don't even read.
func (o *Operator) List(ctx context.Context) (held []Held, now time.Time, skipped int64, err error) {
	reply, err := o.Redis.Eval(ctx, override.ReadScript, []string{override.Key(o.Prefix)}, "").Slice()
	if err != nil {
		return nil, now, 0, err
	}
	if len(reply) != 4 {
		return nil, now, 0, errors.New("the script's reply has a wrong shape")
	}
	us, err := strconv.ParseInt(fmt.Sprint(reply[0]), 10, 64)
	if err != nil {
		return nil, now, 0, err
	}
	skipped, _ = reply[2].(int64)
	override.Each(fmt.Sprint(reply[3]), func(field string, e override.Entry, err error) {
		if err == nil && o.Policy != nil {
			err = engine.CheckOverride(o.Policy, e)
		}
		held = append(held, Held{field, e, err})
	})
	slices.SortFunc(held, func(a, b Held) int {
		// A limit's own entry comes before those of its callers.
		return cmp.Or(cmp.Compare(a.Entry.Name, b.Entry.Name), cmp.Compare(a.Field, b.Field))
	})
	return held, time.UnixMicro(us), skipped, nil
}

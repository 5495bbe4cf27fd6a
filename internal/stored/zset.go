package stored

import (
	"strings"

	"sluice/internal/limit"
)

func init() {
	zset, err := limit.Lookup("sliding_log", "zset")
	if err != nil {
		panic(err)
	}
	register(Format{
		Algorithm: zset,
		Type:      "zset",
		ArgNames:  limitAndWindow,
		Valid: func(v *Value) bool {
			return membersLook(v, func(name string) bool {
				// <ms>:<us>:<request id>, or x<cost> behind the us.
				f := strings.SplitN(name, ":", 3)
				us, cost, costly := "", "", false
				if len(f) == 3 {
					us, cost, costly = strings.Cut(f[1], "x")
				}
				return len(f) == 3 && isNumber(f[0]) && isNumber(us) && (!costly || isNumber(cost))
			})
		},
		Args: func(*Value) []int64 { return []int64{anyMember, anyMS} },
		MaxTTL: func(_ *Value, p *limit.Params) int64 {
			if p == nil {
				return 0
			}
			return p.WindowMS + 10_000 + skewMS
		},
		Newest: func(v *Value) int64 {
			for i := len(v.Last) - 1; i >= 0; i-- {
				if m := v.Last[i]; !strings.HasPrefix(m.Name, "~") {
					return int64(m.Score)
				}
			}
			return 0
		},
		Bytes: func(p *limit.Params) int64 { return members(p.Limit) },
	})
	hold, err := limit.Lookup("concurrency", "")
	if err != nil {
		panic(err)
	}
	register(Format{
		Algorithm: hold,
		Type:      "zset",
		ArgNames:  []string{"max", "max_hold_ms"},
		Valid: func(v *Value) bool {
			return membersLook(v, func(name string) bool {
				cost, _, ok := strings.Cut(name, ":")
				return ok && isNumber(cost)
			})
		},
		Args: func(*Value) []int64 { return []int64{anyMember, anyMS} },
		MaxTTL: func(_ *Value, p *limit.Params) int64 {
			if p == nil {
				return 0
			}
			return p.HoldMS + skewMS + 10_000
		},
		Bytes: func(p *limit.Params) int64 { return members(p.Limit) },
	})
}

// membersLook reports whether all members but the bookkeeping ones look so.
func membersLook(v *Value, look func(name string) bool) bool {
	for _, m := range v.Last {
		if m.Name != "~extra" && m.Name != "~shift" && !look(m.Name) {
			return false
		}
	}
	return len(v.Last) > 0
}

func isNumber(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != "" && len(s) <= 17
}

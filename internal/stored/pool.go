package stored

import (
	"strconv"
	"strings"

	"sluice/internal/limit"
	"sluice/internal/override"
)

func init() {
	register(Format{
		Algorithm: limit.Pool,
		Type:      "string",
		ArgNames:  []string{"units", "until_ms"},
		Valid:     func(v *Value) bool { _, ok := pool(v); return ok },
		Args: func(v *Value) []int64 {
			till, _ := pool(v)
			return []int64{anyMember, till}
		},
		// A pool ends with the override that opened it.
		MaxTTL: func(*Value, *limit.Params) int64 { return override.MaxForMS + 2*skewMS },
		Bytes:  func(p *limit.Params) int64 { return text(14 + digits(p.Limit)) },
	})
}

// pool reads when a pool ends, ms since the epoch.
func pool(v *Value) (till int64, ok bool) {
	a, b, ok := strings.Cut(string(v.Head), " ")
	if !ok || !isNumber(a) || !isNumber(b) {
		return 0, false
	}
	till, err := strconv.ParseInt(a, 10, 64)
	if err != nil || till < 1 || till > limit.MaxUntilMS {
		return 0, false
	}
	return till, true
}

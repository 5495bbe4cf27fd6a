package stored

import "sluice/internal/limit"

// period is the format of a count for one period: start, stop, count.
const period = 21 // bytes

func init() {
	fixed, err := limit.Lookup("fixed_window", "")
	if err != nil {
		panic(err)
	}
	valid := func(v *Value) bool {
		return len(v.Head) == period && number(v.Head[:7]) < number(v.Head[7:14])
	}
	register(Format{
		Algorithm: fixed, Type: "string", Valid: valid, ArgNames: limitAndWindow,
		Args: func(v *Value) []int64 {
			return []int64{anyCount, number(v.Head[7:14]) - number(v.Head[:7])}
		},
		MaxTTL: func(v *Value, p *limit.Params) int64 {
			length := number(v.Head[7:14]) - number(v.Head[:7])
			if p != nil {
				length = max(length, p.WindowMS)
			}
			return length + 2*skewMS
		},
		Newest: func(v *Value) int64 { return number(v.Head[:7]) },
		Bytes:  func(*limit.Params) int64 { return text(period) },
	})
	calendar, err := limit.Lookup("calendar", "")
	if err != nil {
		panic(err)
	}
	register(Format{
		Algorithm: calendar, Type: "string", Valid: valid,
		ArgNames: []string{"limit", "start_before", "start", "start_next", "start_after"},
		Args: func(v *Value) []int64 {
			start, stop := number(v.Head[:7]), number(v.Head[7:14])
			return []int64{anyCount, 0, max(start, 1), stop, anyCount}
		},
		MaxTTL: func(v *Value, _ *limit.Params) int64 {
			return number(v.Head[7:14]) - number(v.Head[:7]) + 2*skewMS
		},
		Newest: func(v *Value) int64 { return number(v.Head[:7]) },
		Bytes:  func(*limit.Params) int64 { return text(period) },
	})
}

package limit

import "testing"

// Gateways that count by themselves spend no more of a pool than there is, however
// few units each has, and none after its end.
func TestSharesOfAPool(t *testing.T) {
	const end = epoch/1000 + 60_000
	for _, x := range []struct{ units, gateways, want int64 }{{10, 1, 10}, {10, 3, 9}, {2, 4, 0}, {0, 1, 0}} {
		p := Params{Limit: x.units, UntilMS: end}
		admitted := int64(0)
		for range x.gateways {
			var s Share
			var state []byte
			for i := range int64(30) {
				if !s.Open(Pool, &p, x.gateways, state) {
					t.Fatal("the state isn't good")
				}
				now := epoch + i*3_000_000 // beyond the end
				if i > 20 {
					now = epoch + 59_000_000
				}
				if d := s.Look(now, 1); d.Admitted {
					s.Take(now, 1)
					admitted++
				}
				state = s.AppendState(nil)
			}
		}
		if admitted != x.want {
			t.Errorf("of %d units %d gateways admit %d, want %d", x.units, x.gateways, admitted, x.want)
		}
	}
	if ShareAlgorithm(Pool.Code) != Pool {
		t.Error("a stored pool isn't known again")
	}
}

package advice_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"sluice/internal/advice"
	"sluice/internal/config/yamlconfig"
	"sluice/internal/limit"
)

// A limit that is said never to reject never is the only one that does: shown on
// the algorithms' models, over random limits and requests that come in bursts.
func TestNeverBindsIsRight(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	algorithms := []string{"sliding_log", "sliding_counter", "fixed_window", "token_bucket", "leaky_bucket"}
	said := 0
	for range 3000 {
		var b strings.Builder
		b.WriteString("limits:\n")
		for i := range 2 {
			fmt.Fprintf(&b, "- {name: l%d, rate: %d/%dms, algorithm: %s}\n", i, 1+random.IntN(12), []int{100, 250, 500, 1000, 2000}[random.IntN(5)], algorithms[random.IntN(5)])
		}
		p, problems := yamlconfig.Parse([]byte(b.String()))
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		for _, w := range advice.Look(&advice.Subject{Policy: p}) {
			if w.Rule != "never-binds" {
				continue
			}
			said++
			idle := int(w.Path[len("limits[")] - '0')
			models := []limit.Model{p.Limits[0].Algorithm.New(p.Limits[0].Rates[0].Params), p.Limits[1].Algorithm.New(p.Limits[1].Rates[0].Params)}
			now := int64(1_700_000_000_000_000)
			for range 400 {
				if random.IntN(4) == 0 {
					now += int64(random.IntN(600_000))
				} else {
					now += int64(random.IntN(3000))
				}
				quiet, other := models[idle].Look(now, 1), models[1-idle].Look(now, 1)
				if !quiet.Admitted && other.Admitted {
					t.Fatalf("%s%s\n%s rejects alone at %d", b.String(), w.Message, p.Limits[idle].Name, now)
				}
				if quiet.Admitted && other.Admitted {
					models[0].Take(now, 1)
					models[1].Take(now, 1)
				}
			}
		}
	}
	if said < 200 {
		t.Errorf("said of %d limits only", said)
	}
}

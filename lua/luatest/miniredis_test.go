package luatest

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"sluice/internal/limit"
)

// The scripts use only what the embedded stand-in has, too.
func TestMiniredis(t *testing.T) {
	srv := miniredis.RunT(t)
	rdb := redis.NewClient(&redis.Options{Addr: srv.Addr(), Protocol: 2})
	t.Cleanup(func() { _ = rdb.Close() })
	for _, alg := range append(limit.Algorithms(), limit.Pool) {
		t.Run(strings.TrimSuffix(alg.Name+"/"+alg.Storage, "/"), func(t *testing.T) {
			c := newCaller(t, rdb, alg)
			k := counter{alg: alg, key: freshKey(alg.Suffix), p: fivePerMinute, cost: 1}
			for i := range int64(7) {
				v := c.call(epoch+i*3000, string(rune('a'+i)), k)
				if v.admitted != (i < 5) {
					t.Errorf("request %d of 5: %+v", i+1, v)
				}
			}
			if v := c.call(-1, "by TIME", counter{alg: alg, key: freshKey(alg.Suffix), p: fivePerMinute, cost: 1}); !v.admitted {
				t.Errorf("by the server's clock: %+v", v)
			}
			prop := rapid.MakeFuzz(c.equalsModel(alg))
			r := rand.NewChaCha8([32]byte{1})
			for range 10 {
				choices := make([]byte, 1<<18)
				_, _ = r.Read(choices)
				prop(t, choices)
			}
		})
	}
}

package slot_test

import (
	"testing"

	"sluice/internal/slot"
	"sluice/internal/stack/stacktest"
)

// CLUSTER KEYSLOT knows. The check value of CRC-16/XMODEM is 0x31c3.
func TestSlotsAreThoseOfRedis(t *testing.T) {
	if got := slot.Of([]byte("123456789")); got != 0x31c3%slot.Count {
		t.Errorf("the slot of 123456789 is %d", got)
	}
	c := stacktest.RedisCluster(t, 1).Nodes[0].Client()
	defer c.Close()
	for _, key := range []string{
		"", "a", "rl:{per-ip|1.2.3.4}:log1", "rl:{tenant}:per-user|7:tok1", "{}", "{}a{b}", "a{", "a}{b", "a{{b}}", "{a}{b}", "\x00\xff{\x80}",
	} {
		want, err := c.ClusterKeySlot(t.Context(), key).Result()
		if err != nil {
			t.Fatal(err)
		}
		if got := slot.Of([]byte(key)); int64(got) != want {
			t.Errorf("the slot of %q is %d, Redis says %d", key, got, want)
		}
	}
}

func TestOfAllocatesNothing(t *testing.T) {
	key := []byte("rl:{per-ip|1.2.3.4}:log1")
	if n := testing.AllocsPerRun(100, func() { slot.Of(key) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

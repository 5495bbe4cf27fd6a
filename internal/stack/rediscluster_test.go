package stack

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// A slot moves with its keys while both nodes serve, and a replica takes over
// from a master that dies.
func TestRedisClusterChanges(t *testing.T) {
	o := RedisOptions{Binary: redisBinary(t), Dir: t.TempDir()}
	c, err := StartRedisCluster(o, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Stop()
	if err := c.Replicate(o); err != nil {
		t.Fatal(err)
	}
	var addrs []string
	for _, node := range c.Nodes {
		addrs = append(addrs, node.Addr)
	}
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs, Protocol: 2, DisableIdentity: true})
	defer client.Close()
	of, err := client.ClusterKeySlot(t.Context(), "{tenant}").Result()
	if err != nil {
		t.Fatal(err)
	}
	slot := int(of)
	for i := range 30 {
		if err := client.Set(t.Context(), fmt.Sprintf("{tenant}%d", i), i, 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	owner := slot * len(c.Nodes) / slots
	to := c.Nodes[(owner+1)%3]
	during := 0
	if err := c.MoveSlot(t.Context(), slot, c.Nodes[owner], to, func() { during++ }); err != nil {
		t.Fatal(err)
	}
	if n, err := nodeKeys(t, to); err != nil || n != 30 || during != 30 {
		t.Errorf("the new owner has %d keys (%v), %d were moved", n, err, during)
	}

	c.Nodes[0].Kill()
	deadline := time.Now().Add(20 * time.Second)
	for {
		info, err := c.Replicas[0].info(t.Context(), "replication")
		if err == nil && len(info) > 0 && strings.Contains(info, "role:master\r\n") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the replica didn't take over: %s (%v)", info, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

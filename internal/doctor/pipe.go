package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// clusterStatus is one cluster at /clusters.
type clusterStatus struct {
	Name  string `json:"name"`
	Hosts []struct {
		Stats []struct {
			Name  string `json:"name"`
			Value string `json:"value"`
		} `json:"stats"`
		Health map[string]any `json:"health_status"`
	} `json:"host_statuses"`
}

// value is a figure of all the cluster's hosts together.
func (c *clusterStatus) value(name string) (sum int64) {
	for _, h := range c.Hosts {
		for _, s := range h.Stats {
			if s.Name == name {
				n, err := strconv.ParseInt(s.Value, 10, 64)
				if err == nil {
					sum += n
				}
			}
		}
	}
	return sum
}

// pipe looks at the clusters on the way to Redis.
func pipe(ctx context.Context, r *room, g *gateway) error {
	text, err := g.admin.Get(ctx, "/clusters?format=json")
	if err != nil {
		return err
	}
	var page struct {
		Clusters []clusterStatus `json:"cluster_statuses"`
	}
	if err := json.Unmarshal(text, &page); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, p := range g.dump.plugins {
		if p.policy == nil || seen[p.policy.Redis.Cluster] {
			continue
		}
		name := p.policy.Redis.Cluster
		seen[name] = true
		if !slices.ContainsFunc(page.Clusters, func(c clusterStatus) bool { return c.Name == name }) {
			r.fail("there is no cluster "+name+", which redis.cluster names: Redis can't be reached", "add the pipe of envoy.yaml (a cluster), or correct redis.cluster")
			return nil
		}
	}
	bad := false
	for i := range page.Clusters {
		c := &page.Clusters[i]
		if !seen[c.Name] && !strings.HasPrefix(c.Name, "redis") {
			continue
		}
		fails, active := c.value("cx_connect_fail"), c.value("cx_active")
		switch {
		case len(c.Hosts) == 0:
			bad = true
			r.fail("cluster "+c.Name+" has no address: its name may not resolve", "check the endpoint's host name and Envoy's DNS")
		case active == 0 && fails > 0:
			bad = true
			r.fail(fmt.Sprintf("cluster %s can't connect: %d attempts failed, no connection is open", c.Name, fails), "check the endpoint's address and that Redis listens there")
		case fails > 0:
			bad = true
			r.warn(fmt.Sprintf("%d connections of cluster %s failed since the start", fails, c.Name), "harmless after a restart of Redis; else look at the network")
		}
	}
	if !bad && len(seen) > 0 {
		r.ok("the way to Redis is open")
	}
	return nil
}

package advice

import "sluice/internal/config"

func init() {
	register("shards-on-one-redis", shardsOnOneRedis)
	register("lease-of-nothing", leaseOfNothing)
}

// shardsOnOneRedis finds keys that are divided where all parts are on one server.
func shardsOnOneRedis(s *Subject, warn func(path, message, remedy string)) {
	if s.Policy.Redis.Topology == config.RedisCluster {
		return
	}
	for _, l := range s.Policy.Limits {
		if l.Hot != nil && l.Hot.Shards > 1 {
			warn(at(l, "hot"), "a key's counters are all on one Redis, where one counter takes less of its time",
				"leave it out, or use a Redis Cluster with redis.topology: cluster")
		}
	}
}

// leaseOfNothing finds leases that are too small for a worker to take.
func leaseOfNothing(s *Subject, warn func(path, message, remedy string)) {
	for _, l := range s.Policy.Limits {
		if l.Hot == nil || l.Hot.LeaseUS == 0 || l.Cost.Fixed <= 0 {
			continue
		}
		for i := range l.Rates {
			if r := &l.Rates[i]; r.LeaseUnits/l.Cost.Fixed < 2 {
				warn(at(l, "hot"), r.Text+" admits less than two requests in the time of a lease, so there never is one",
					"leave it out: hot is for keys with hundreds of requests a second")
			}
		}
	}
}

package config

import "testing"

func TestLinks(t *testing.T) {
	const limits = `,"limits":[{"name":"a","rate":"1/s"}]}`
	for redis, want := range map[string]Redis{
		`{}`:                            {Cluster: "redis_pipe"},
		`{"link":"http"}`:               {Cluster: "redis_tcp", Link: HTTPLink},
		`{"link":"http","cluster":"x"}`: {Cluster: "x", Link: HTTPLink},
		`{"link":"host","cluster":"outbound|6|s|r"}`: {Cluster: "outbound|6|s|r", Link: HostLink},
	} {
		p, errs := Parse([]byte(`{"redis":` + redis + limits))
		if len(errs) > 0 {
			t.Errorf("%s: %v", redis, errs)
			continue
		}
		if p.Redis.Cluster != want.Cluster || p.Redis.Link != want.Link {
			t.Errorf("%s: link %d to %s", redis, p.Redis.Link, p.Redis.Cluster)
		}
	}
	for redis, path := range map[string]string{
		`{"link":"host"}`:                                          "redis.cluster",
		`{"link":"host","cluster":"a?db=1"}`:                       "redis.cluster",
		`{"link":"http","cluster":"outbound|6||r"}`:                "redis.cluster",
		`{"cluster":"outbound|6||r"}`:                              "redis.cluster",
		`{"link":"http","topology":"cluster"}`:                     "redis.link",
		`{"link":"host","cluster":"a|b|c|d","topology":"cluster"}`: "redis.link",
	} {
		_, errs := Parse([]byte(`{"redis":` + redis + limits))
		if len(errs) == 0 || errs[0].Path != path {
			t.Errorf("%s: %v", redis, errs)
		}
	}
}

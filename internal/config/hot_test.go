package config_test

import (
	"testing"

	"sluice/internal/config"
)

func hotPolicy(t *testing.T, limit string) *config.Policy {
	t.Helper()
	p, errs := config.Parse([]byte(`{"limits":[` + limit + `]}`))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return p
}

func TestShardsAddUp(t *testing.T) {
	for _, c := range []struct {
		limit  string
		shards int
		units  int64
	}{
		{`{"name":"a","rate":"100/s","hot":{"shards":8}}`, 8, 100},
		{`{"name":"a","rate":"3/s","hot":{"shards":8}}`, 3, 3},
		{`{"name":"a","rate":"0/s","hot":{"shards":8}}`, 1, 0},
		{`{"name":"a","rate":"100/s","cost":30,"hot":{"shards":8}}`, 3, 100},
		{`{"name":"a","rate":"100/s","algorithm":"token_bucket","burst":5,"hot":{"shards":8}}`, 5, 100},
	} {
		r := &hotPolicy(t, c.limit).Limits[0].Rates[0]
		sum, burst := int64(0), int64(0)
		for _, p := range r.Shards {
			sum += p.Limit
			burst += p.Burst
		}
		if len(r.Shards) != c.shards || sum != c.units || burst != r.Params.Burst {
			t.Errorf("%s: %d shards of %d units, burst %d", c.limit, len(r.Shards), sum, burst)
		}
	}
}

func TestLeasesLengthenTheWindow(t *testing.T) {
	p := hotPolicy(t, `{"name":"a","rate":"1000/s","hot":{"lease":{"for":"100ms"}}},
		{"name":"b","rate":"1000/s","algorithm":"token_bucket","burst":500,"hot":{"lease":{"for":"50ms"}}},
		{"name":"c","rate":"1000/s","algorithm":"fixed_window","hot":{"lease":{"for":"100ms"}}}`)
	if r := &p.Limits[0].Rates[0]; r.Enforced().WindowMS != 1100 || r.Enforced().Limit != 1000 || r.LeaseUnits != 100 || r.Params.WindowMS != 1000 {
		t.Errorf("log: %+v, %d", r.Enforced(), r.LeaseUnits)
	}
	if r := &p.Limits[1].Rates[0]; r.Enforced().Burst != 449 || r.Enforced().WindowMS != 1000 || r.LeaseUnits != 50 {
		t.Errorf("bucket: %+v, %d", r.Enforced(), r.LeaseUnits)
	}
	if r := &p.Limits[2].Rates[0]; r.Enforced().WindowMS != 1000 {
		t.Errorf("fixed window: %+v", r.Enforced())
	}
}

func TestNoValueIsAShard(t *testing.T) {
	for _, v := range []string{"u|%25s3", "%s3", "", "u", "|%s", "u|%sz", "u|s3"} {
		if whole, shard := config.CutShard(v); whole != v || shard != -1 {
			t.Errorf("%q: %q, %d", v, whole, shard)
		}
	}
	if whole, shard := config.CutShard("u|v|%sa"); whole != "u|v" || shard != 10 {
		t.Errorf("%q, %d", whole, shard)
	}
}

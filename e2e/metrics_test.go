package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/internal/stack/envoyconfig"
	"sluice/internal/version"
)

func TestMetricsAndAccessLog(t *testing.T) {
	log := filepath.Join(t.ArtifactDir(), "access.log")
	e, _ := plain(t, func(c *envoyconfig.Config) {
		c.AccessLog(log, "%RESPONSE_CODE% %RESPONSE_CODE_DETAILS% %FILTER_STATE(wasm.sluice.decision:PLAIN)% "+
			"%FILTER_STATE(wasm.sluice.limit:PLAIN)% %FILTER_STATE(wasm.sluice.mode:PLAIN)% %FILTER_STATE(wasm.sluice.redis_us:PLAIN)%")
	})

	// Zeros show before anything has happened.
	s := stats(t, e)
	for _, series := range []string{
		`sluice_decisions_total{limit="key",outcome="admitted"}`,
		`sluice_decisions_total{limit="key",outcome="rejected"}`,
		`sluice_decisions_total{limit="key",outcome="shadow_rejected"}`,
		`sluice_decisions_total{limit="key",outcome="tagged"}`,
		`sluice_decisions_total{limit="key",outcome="failed_open"}`,
		`sluice_decisions_total{limit="key",outcome="failed_closed"}`,
		`sluice_mode_total{mode="redis"}`,
		`sluice_mode_total{mode="memory"}`,
		`sluice_mode_total{mode="local"}`,
		`sluice_mode_total{mode="lease"}`,
		`sluice_mode_total{mode="degraded"}`,
		`sluice_breaker_open`,
		`sluice_pipe_reconnects_total`,
		`sluice_script_loads_total`,
		`sluice_panics_total`,
		`sluice_config_errors_total`,
	} {
		if value, has := s[series]; !has || value != 0 {
			t.Errorf("%s is %v (there: %v) before the first request", series, value, has)
		}
	}
	if v := s[`sluice_build_info{version="`+version.Version+`"}`]; v != 1 {
		t.Errorf("sluice_build_info is %v", v)
	}
	errorKinds := 0
	for series := range s {
		if strings.HasPrefix(series, `sluice_redis_errors_total{kind="`) {
			errorKinds++
		}
	}
	if errorKinds == 0 {
		t.Error("no sluice_redis_errors_total before the first request")
	}

	for i := range 7 {
		get(e.URL()+"/", "k").must(t, []int{200, 200, 200, 200, 200, 429, 429}[i])
	}
	// The second rejection needs no call. Histograms are merged every few seconds.
	eventually(t, 15*time.Second, func() error {
		s = stats(t, e)
		if got := s["sluice_redis_us_count"]; got != 6 {
			return fmt.Errorf("sluice_redis_us_count is %v", got)
		}
		return nil
	})
	for series, want := range map[string]float64{
		`sluice_decisions_total{limit="key",outcome="admitted"}`:    5,
		`sluice_decisions_total{limit="key",outcome="rejected"}`:    2,
		`sluice_decisions_total{limit="key",outcome="failed_open"}`: 0,
		`sluice_mode_total{mode="redis"}`:                           6,
		`sluice_mode_total{mode="memory"}`:                          1,
		`sluice_script_loads_total`:                                 1,
		`sluice_panics_total`:                                       0,
	} {
		if got := s[series]; got != want {
			t.Errorf("%s is %v, expected %v", series, got, want)
		}
	}
	if got := s.Sum("sluice_redis_errors_total", nil); got != 0 {
		t.Errorf("%v errors were counted", got)
	}

	var lines []string
	eventually(t, 15*time.Second, func() error {
		text, err := os.ReadFile(log)
		lines = strings.Split(strings.TrimSpace(string(text)), "\n")
		if err == nil && len(lines) != 7 {
			err = fmt.Errorf("%d lines of 7 in the access log", len(lines))
		}
		return err
	})
	for i, line := range lines {
		want := "200 via_upstream admitted key redis "
		switch i {
		case 5:
			want = "429 sluice_key rejected key redis "
		case 6: // no call to Redis, so no time of one
			if line != "429 sluice_key rejected key memory -" {
				t.Errorf("access log line %d: %q", i, line)
			}
			continue
		}
		us, found := strings.CutPrefix(line, want)
		if n, err := strconv.Atoi(us); !found || err != nil || n < 1 {
			t.Errorf("access log line %d: %q", i, line)
		}
	}
}

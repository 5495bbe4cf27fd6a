package observability

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"sluice/internal/stack"
	"sluice/internal/stack/envoyconfig"
	"sluice/internal/stack/stacktest"
)

// fileLog is an access log in a file.
func fileLog(path string, format m) m {
	return m{"name": "envoy.access_loggers.file", "typed_config": m{
		"@type": "type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog",
		"path":  path, "log_format": format,
	}}
}

// pageFormat is the text format of the page.
func pageFormat(t *testing.T) string {
	t.Helper()
	line := regexp.MustCompile("(?m)^```\n(%START_TIME%.*)\n```$").FindStringSubmatch(page(t))
	if line == nil {
		t.Fatal("the page has no line of text format")
	}
	return line[1]
}

// istioLabels are the fields of the log that istio-mesh.yaml defines, and a check
// that istio-telemetry.yaml turns that log on.
func istioLabels(t *testing.T) m {
	t.Helper()
	var mesh struct {
		Default struct {
			Tags []string `yaml:"extraStatTags"`
		} `yaml:"defaultConfig"`
		Providers []struct {
			Name string `yaml:"name"`
			File struct {
				Path   string `yaml:"path"`
				Format struct {
					Labels m `yaml:"labels"`
				} `yaml:"logFormat"`
			} `yaml:"envoyFileAccessLog"`
		} `yaml:"extensionProviders"`
	}
	read(t, "istio-mesh.yaml", &mesh)
	if len(mesh.Providers) != 1 || len(mesh.Providers[0].File.Format.Labels) == 0 {
		t.Fatalf("istio-mesh.yaml defines %+v", mesh.Providers)
	}
	// The labels of all metrics need a tag.
	need := map[string]bool{}
	for _, x := range documented(t) {
		for label := range x.labels {
			need[label] = true
		}
	}
	for _, tag := range mesh.Default.Tags {
		delete(need, tag)
	}
	if len(need) > 0 {
		t.Errorf("istio-mesh.yaml makes no tags of %v", need)
	}
	var telemetry struct {
		Kind string `yaml:"kind"`
		Spec struct {
			Logging []struct {
				Providers []struct {
					Name string `yaml:"name"`
				} `yaml:"providers"`
			} `yaml:"accessLogging"`
		} `yaml:"spec"`
	}
	read(t, "istio-telemetry.yaml", &telemetry)
	if l := telemetry.Spec.Logging; telemetry.Kind != "Telemetry" || len(l) != 1 || len(l[0].Providers) != 1 || l[0].Providers[0].Name != mesh.Providers[0].Name {
		t.Errorf("istio-telemetry.yaml: %+v", telemetry)
	}
	return mesh.Providers[0].File.Format.Labels
}

// seen is what tells requests apart, in a log or elsewhere.
type seen struct {
	status                         int
	details, decision, limit, mode string
	redis                          bool // the time of a call is there
}

// Admitted, rejected by us, rejected by the upstream, and met by no limit: each
// log format that the project gives, the headers and the metrics tell which.
func TestWhose429(t *testing.T) {
	dir := t.ArtifactDir()
	text, istio := filepath.Join(dir, "text.log"), filepath.Join(dir, "istio.log")
	var entry m
	read(t, "envoy-access-log.yaml", &entry)
	labels := istioLabels(t)
	upstream := stacktest.Upstream(t)
	e := stacktest.Gateway{
		Plugin: policy(t, on("strict", "2/hour", nil)),
		Redis:  stacktest.Redis(t, stack.RedisOptions{}).Addr, Upstream: upstream.Addr,
		Edit: func(c *envoyconfig.Config) {
			c.Manager(envoyconfig.Gateway, "access_log", []any{
				entry,
				fileLog(istio, m{"json_format": labels}),
				fileLog(text, m{"text_format_source": m{"inline_string": pageFormat(t) + "\n"}}),
			})
		},
	}.Start(t)

	var headers []http.Header
	send := func(path string, status int) {
		headers = append(headers, get(t, e.URL()+path, "k", status))
	}
	send("/strict", 200)
	upstream.SetAnswer(stack.Answer{Status: 429, Header: http.Header{"Retry-After": {"7"}}})
	send("/strict", 429)
	send("/strict", 429)
	send("/strict", 429)
	send("/free", 429)
	upstream.SetAnswer(stack.Answer{Status: 429, Header: http.Header{"Retry-After": {"7"}, "X-Envoy-Ratelimited": {"true"}}})
	send("/free", 429)
	want := []seen{
		{200, "via_upstream", "admitted", "strict", "redis", true},
		{429, "via_upstream", "admitted", "strict", "redis", true}, // the upstream's own
		{429, "sluice_strict", "rejected", "strict", "redis", true},
		{429, "sluice_strict", "rejected", "strict", "memory", false},
		{429, "via_upstream", "", "", "", false}, // the upstream's own, and no limit matched
		{429, "via_upstream", "", "", "", false}, // and it is behind an Envoy of its own
	}
	for i, h := range headers {
		marked := want[i].decision == "rejected" || i == 5
		if got := h.Get("x-envoy-ratelimited") == "true"; got != marked {
			t.Errorf("request %d: x-envoy-ratelimited: %v", i, got)
		}
		if got := h.Get("retry-after"); want[i].details == "via_upstream" && want[i].status == 429 && got != "7" {
			t.Errorf("request %d: the upstream's retry-after became %q", i, got)
		}
	}
	if n := upstream.Total(); n != 4 {
		t.Errorf("%d requests reached the upstream", n)
	}

	for name, log := range map[string]struct {
		path string
		read func(string) (seen, error)
	}{
		"envoy": {filepath.Join(dir, "envoy-access.log"), readJSON},
		"istio": {istio, readJSON},
		"text":  {text, readText},
	} {
		var lines []string
		eventually(t, func() error {
			all, err := os.ReadFile(log.path)
			lines = strings.Split(strings.TrimSpace(string(all)), "\n")
			if err == nil && len(lines) < len(want) {
				err = fmt.Errorf("%s: %d lines", name, len(lines))
			}
			return err
		})
		for i, line := range lines {
			got, err := log.read(line)
			if i == 3 && got.mode == "redis" && got.redis {
				got.mode, got.redis = "memory", false // it forgets after a second, and this took longer
			}
			if err != nil || i >= len(want) || got != want[i] {
				t.Errorf("%s, line %d: %+v (%v) of %s", name, i, got, err, line)
			}
		}
	}

	stats, err := e.Admin.SettledStats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := stats.Sum("sluice_decisions_total", map[string]string{"outcome": "rejected"}); got != 2 {
		t.Errorf("%v rejections are ours", got)
	}
	if got := stats.Sum("envoy_cluster_upstream_rq", map[string]string{"envoy_response_code": "429", "envoy_cluster_name": "upstream"}); got != 3 {
		t.Errorf("%v are the upstream's", got)
	}
}

func readJSON(line string) (seen, error) {
	var l struct {
		Status   int    `json:"status"`
		Details  string `json:"details"`
		Decision string `json:"sluice_decision"`
		Limit    string `json:"sluice_limit"`
		Mode     string `json:"sluice_mode"`
		Redis    *any   `json:"sluice_redis_us"`
	}
	err := json.Unmarshal([]byte(line), &l)
	return seen{l.Status, l.Details, l.Decision, l.Limit, l.Mode, l.Redis != nil}, err
}

var textLine = regexp.MustCompile(`^\S+ GET \S+ (\d+) (\S+) \d+ms decision=(\S+) limit=(\S+) mode=(\S+) redis_us=(\d+|-)$`)

func readText(line string) (seen, error) {
	f := textLine.FindStringSubmatch(line)
	if f == nil {
		return seen{}, fmt.Errorf("the line has another form")
	}
	status, err := strconv.Atoi(f[1])
	word := func(s string) string {
		if s == "-" {
			return ""
		}
		return s
	}
	return seen{status, f[2], word(f[3]), word(f[4]), word(f[5]), f[6] != "-"}, err
}

// The page's line of text is the one that envoy.yaml writes.
func TestTextFormat(t *testing.T) {
	example, err := os.ReadFile(filepath.Join(stacktest.Root(t), "envoy.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if want := `inline_string: "` + pageFormat(t) + `\n"`; !strings.Contains(string(example), want) {
		t.Errorf("envoy.yaml has no %s", want)
	}
}

package playground

import (
	"net/http"
	"strings"
	"testing"
)

func TestOpenRefusesWhatIsWrong(t *testing.T) {
	file, _ := pluginFile(t)
	s := NewSettings("test.yaml", file, true)
	wrong, err := s.Open("limits:\n- name: a\n  rate: 1/s\n  burts: 4\n")
	if err != nil || len(wrong) != 1 {
		t.Fatal(wrong, err)
	}
	if p := wrong[0]; p.Line != 4 || p.Column != 3 || p.Suggestion != "burst" {
		t.Errorf("got %+v", p)
	}
	got := Lines("envoy.yaml", 100, 20, wrong)
	if !strings.HasPrefix(got, "envoy.yaml:104:23: limits[0].burts: ") {
		t.Errorf("got %q", got)
	}
	if got := Lines("x.yaml", 5, 5, []Problem{{Message: "empty"}}); got != "x.yaml:empty" {
		t.Errorf("got %q", got)
	}
}

// What says how the real Redis is reached doesn't hold here.
func TestAdapt(t *testing.T) {
	file, path := pluginFile(t)
	s := NewSettings("test.yaml", file, true)
	const text = "redis: {cluster: my_redis, username: u, password_env: NO_SUCH_VARIABLE, db: 3, timeout: 7ms}\nlimits: [{name: a, rate: 9007199254740/day}]\n"
	if wrong, err := s.Open(text); err != nil || len(wrong) > 0 {
		t.Fatal(wrong, err)
	}
	written := readFile(t, path)
	for _, part := range []string{`"cluster":"redis_pipe"`, `"timeout":"7ms"`, `9007199254740/day`} {
		if !strings.Contains(written, part) {
			t.Errorf("%s isn't in\n%s", part, written)
		}
	}
	for _, part := range []string{"my_redis", "NO_SUCH_VARIABLE", "username"} {
		if strings.Contains(written, part) {
			t.Errorf("%s is in\n%s", part, written)
		}
	}
	if notes := s.Now().Notes; len(notes) != 4 {
		t.Errorf("notes: %q", notes)
	}
	if s.Now().Text != text || s.Origin() != text {
		t.Error("the page wouldn't show the text as it is")
	}
}

func TestAdaptForAForeignRedis(t *testing.T) {
	const text = "redis: {password_env: SLUICE_TEST_PASSWORD, db: 3}\nlimits: []\n"
	file, path := pluginFile(t)
	s := NewSettings("test.yaml", file, false)
	wrong, err := s.Open(text)
	if err != nil || len(wrong) != 1 || !strings.Contains(wrong[0].Message, "SLUICE_TEST_PASSWORD was empty") {
		t.Fatal(wrong, err)
	}
	t.Setenv("SLUICE_TEST_PASSWORD", "secret")
	if wrong, err := s.Open(text); err != nil || len(wrong) > 0 {
		t.Fatal(wrong, err)
	}
	written := readFile(t, path)
	if !strings.Contains(written, "- SLUICE_TEST_PASSWORD") || !strings.Contains(written, `"db":3`) {
		t.Errorf("written:\n%s", written)
	}
	if strings.Contains(written, "secret") {
		t.Errorf("the password is in\n%s", written)
	}
}

func TestHashedKeysNeedTheirSecret(t *testing.T) {
	const text = "hash_keys: true\nhash_secret_env: SLUICE_TEST_SECRET\nlimits: [{name: a, key: ip, rate: 1/s}]\n"
	file, path := pluginFile(t)
	s := NewSettings("test.yaml", file, true)
	if wrong, err := s.Open(text); err != nil || len(wrong) != 1 {
		t.Fatal(wrong, err)
	}
	t.Setenv("SLUICE_TEST_SECRET", "secret")
	if wrong, err := s.Open(text); err != nil || len(wrong) > 0 {
		t.Fatal(wrong, err)
	}
	if written := readFile(t, path); !strings.Contains(written, "- SLUICE_TEST_SECRET") {
		t.Errorf("written:\n%s", written)
	}
}

func TestCheckAndApplyOfWrongText(t *testing.T) {
	s := guarded(t)
	headers := []string{"Content-Type", "application/json", tokenHeader, s.token}
	for _, path := range []string{"/api/check", "/api/apply"} {
		w := send(s, http.MethodPost, path, `{"text":"limits:\n- name: a\n  rate: 5 per hour\n"}`, headers...)
		body := w.Body.String()
		if w.Code != 200 || !strings.Contains(body, `"line":3,"column":9`) || !strings.Contains(body, `"suggestion":"5/hour"`) {
			t.Errorf("%s: %d %s", path, w.Code, body)
		}
	}
	if s.o.Settings.Now().Version != 1 {
		t.Error("it was applied")
	}
	w := send(s, http.MethodPost, "/api/check", `{"text":"limits:\n- {name: b, key: ip, rate: 5/hour, shadow: true}\n"}`, headers...)
	if body := w.Body.String(); !strings.Contains(body, `"problems":[]`) || !strings.Contains(body, `"marks":["shadow"]`) {
		t.Errorf("a good one: %s", body)
	}
}

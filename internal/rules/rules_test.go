package rules

import (
	"strconv"
	"strings"
	"testing"
)

type request struct{ host, route, service, consumer string }

func (r request) Host() string     { return r.host }
func (r request) Route() string    { return r.route }
func (r request) Service() string  { return r.service }
func (r request) Consumer() string { return r.consumer }

func TestFind(t *testing.T) {
	for _, c := range []struct {
		rule string
		r    request
		want bool
	}{
		{`"_match_route_":["a","b"]`, request{route: "b"}, true},
		{`"_match_route_":["a"]`, request{route: "ab"}, false},
		{`"_match_route_":["a"],"_match_domain_":["x"]`, request{route: "b", host: "x"}, false}, // routes go first
		{`"_match_route_":["a"],"_match_service_":["s"]`, request{route: "a", service: "outbound|1||t"}, false},
		{`"_match_route_":["a"],"_match_service_":["s"]`, request{route: "a", service: "outbound|1|v1|s"}, true},
		{`"_match_domain_":["*.x.org"]`, request{host: "a.x.org:80"}, true},
		{`"_match_domain_":["*.x.org"]`, request{host: "x.org"}, false},
		{`"_match_domain_":["*"]`, request{}, true},
		{`"_match_domain_":["x.*"]`, request{host: "x.org"}, true},
		{`"_match_domain_":["[::1]"]`, request{host: "[::1]"}, true},
		{`"_match_domain_":["[::1]"]`, request{host: "[::1]:80"}, true},
		{`"_match_service_":["s:80"]`, request{service: "outbound|80||s"}, true},
		{`"_match_service_":["s:80"]`, request{service: "outbound|81||s"}, false},
		{`"_match_service_":["s"]`, request{service: "s"}, false}, // no name of that form
		{`"_match_route_prefix_":["p"]`, request{route: "pq"}, true},
		{`"_match_route_prefix_":["p"],"_match_consumer_":["tom"]`, request{route: "pq"}, false},
		{`"_match_route_prefix_":["p"],"_match_consumer_":["tom"]`, request{route: "pq", consumer: "tom"}, true},
		{`"_match_route_prefix_":["p"],"_match_route_":["",7]`, request{route: "pq"}, true},
	} {
		s, errs := Split([]byte(`{"_rules_":[{` + c.rule + `,"limits":[]}]}`))
		if len(errs) > 0 {
			t.Fatalf("%s: %v", c.rule, errs)
		}
		if got := s.Find(c.r) == 0; got != c.want {
			t.Errorf("%s, %+v: %v", c.rule, c.r, got)
		}
	}
}

func TestSplit(t *testing.T) {
	for text, want := range map[string]struct{ rest, rule string }{
		`{"limits":[1]}`:                   {`{"limits":[1]}`, ""},
		`{"_plugin_id_":"x","limits":[1]}`: {`{"limits":[1]}`, ""},
		`{}`:                               {`{}`, ""},
		`{"redis":{"db":1},"_rules_":[{"_match_route_":["a"],"limits":[2]}]}`:            {"", `{"redis":{"db":1},"limits":[2]}`},
		`{"redis":{"db":1},"limits":[1],"_rules_":[{"_match_route_":["a"],"redis":{}}]}`: {`{"redis":{"db":1},"limits":[1]}`, `{"redis":{}}`},
		`{"_rules_":[],"limits":[1]}`: {`{"limits":[1]}`, ""},
	} {
		s, errs := Split([]byte(text))
		if len(errs) > 0 {
			t.Fatalf("%s: %v", text, errs)
		}
		rule := ""
		if len(s.Rules) > 0 {
			rule = string(s.Rules[0].Config)
		}
		if string(s.Default) != want.rest || rule != want.rule {
			t.Errorf("%s: default %s, rule %s", text, s.Default, rule)
		}
	}
	many := strings.TrimSuffix(strings.Repeat(`{"_match_route_":["a"]},`, Max+1), ",")
	for text, path := range map[string]string{
		`{"_rules_":7}`:              "_rules_",
		`{"_rules_":[7]}`:            "_rules_[0]",
		`{"_rules_":[{"limits":1}]}`: "_rules_[0]",
		`{"_rules_":[` + many + `]}`: "_rules_[" + strconv.Itoa(Max) + "]",
		`{"_rules_":`:                "",
		`{"a":1,"a":2}`:              "a",
	} {
		if _, errs := Split([]byte(text)); len(errs) == 0 || errs[0].Path != path {
			t.Errorf("%.40s: %v", text, errs)
		}
	}
}

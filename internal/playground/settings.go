package playground

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"sluice/internal/config"
	"sluice/internal/config/yamlconfig"
	"sluice/internal/engine"
	"sluice/internal/stack"
)

// Settings is the configuration that the gateway runs, and the way to another.
type Settings struct {
	// Name is what the page calls the file that the configuration came from.
	Name string
	// OwnRedis says that Redis was started for the occasion, so that what the
	// configuration says of its real one doesn't hold.
	OwnRedis bool

	file  *stack.PluginFile
	admin stack.Admin
	apply sync.Mutex // one change at a time

	mu  sync.Mutex
	now InForce
	// origin is the text in the file, which the page can return to.
	origin string
}

// InForce is a configuration that the gateway runs.
type InForce struct {
	Version int // counts the changes, from 1
	Text    string
	From    string // "file" or "page"
	At      time.Time
	Notes   []string // what is different here from what the text says
	Engine  *engine.Engine
}

// Problem is an error in a configuration, as the page shows it.
type Problem struct {
	Line       int    `json:"line"` // 0 where only the whole is wrong
	Column     int    `json:"column"`
	Path       string `json:"path,omitempty"`
	Message    string `json:"message"`
	Suggestion string `json:"suggestion,omitempty"`
}

// NewSettings makes Settings that reach the gateway through file.
func NewSettings(name string, file *stack.PluginFile, ownRedis bool) *Settings {
	return &Settings{Name: name, file: file, OwnRedis: ownRedis}
}

// Check reads a configuration, YAML. It returns a policy, and what the plugin is
// given, or everything that is wrong.
func (s *Settings) check(text string) (*config.Policy, adapted, []Problem) {
	doc, problem := yamlconfig.Convert([]byte(text))
	if problem != nil {
		return nil, adapted{}, problems([]yamlconfig.Problem{*problem})
	}
	policy, errs := config.Parse(doc.JSON)
	if len(errs) > 0 {
		return nil, adapted{}, problems(doc.Locate(errs))
	}
	a, err := adapt(doc.JSON, policy, s.OwnRedis)
	if err != nil {
		return nil, adapted{}, []Problem{{Message: err.Error()}}
	}
	return policy, a, nil
}

func problems(list []yamlconfig.Problem) []Problem {
	out := make([]Problem, 0, len(list))
	for _, p := range list {
		out = append(out, Problem{p.Line, p.Column, p.Path, p.Message, p.Suggestion})
	}
	return out
}

// Open makes text the first configuration: it is written for a gateway that is
// about to start.
func (s *Settings) Open(text string) ([]Problem, error) {
	policy, a, wrong := s.check(text)
	if len(wrong) > 0 {
		return wrong, nil
	}
	if err := s.file.Write(a.json, a.env...); err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.origin = text
	s.mu.Unlock()
	s.took(text, "file", policy, a)
	return nil, nil
}

// Running says that the gateway is up.
func (s *Settings) Running(admin stack.Admin) { s.admin = admin }

// Apply makes text the configuration that the gateway runs, and returns when it
// does. With anything wrong in it nothing changes.
func (s *Settings) Apply(ctx context.Context, text, from string) ([]Problem, error) {
	s.apply.Lock()
	defer s.apply.Unlock()
	policy, a, wrong := s.check(text)
	if len(wrong) > 0 {
		return wrong, nil
	}
	if from == "file" {
		s.mu.Lock()
		s.origin = text
		s.mu.Unlock()
	}
	if text == s.Now().Text {
		return nil, nil
	}
	if err := s.file.Replace(ctx, s.admin, a.json, a.env...); err != nil {
		if errors.Is(err, stack.ErrRefused) {
			// What Envoy refused must not be there when it starts again.
			if back := s.putBack(); back != nil {
				err = errors.Join(err, back)
			}
		}
		return nil, err
	}
	s.took(text, from, policy, a)
	return nil, nil
}

func (s *Settings) putBack() error {
	_, a, _ := s.check(s.Now().Text)
	return s.file.Write(a.json, a.env...)
}

func (s *Settings) took(text, from string, policy *config.Policy, a adapted) {
	s.mu.Lock()
	defer s.mu.Unlock()
	policy.SetHashSecret(a.secret)
	s.now = InForce{Version: s.now.Version + 1, Text: text, From: from, At: time.Now(), Notes: a.notes, Engine: engine.New(policy)}
}

// Now is the configuration in force.
func (s *Settings) Now() InForce {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// Origin is the text in the file.
func (s *Settings) Origin() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.origin
}

// Lines are problems as compilers write them, at a place in a file that is as
// many lines and columns further.
func Lines(name string, line, column int, list []Problem) string {
	var b strings.Builder
	for i, p := range list {
		if i > 0 {
			b.WriteByte('\n')
		}
		at := yamlconfig.Problem{Error: config.Error{Path: p.Path, Message: p.Message, Suggestion: p.Suggestion}}
		if p.Line > 0 {
			at.Line, at.Column = p.Line+line, p.Column+column
		}
		b.WriteString(name + ":" + at.String())
	}
	return b.String()
}

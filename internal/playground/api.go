package playground

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// Handler answers everything, guarded.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.servePage)
	mux.Handle("GET /", files())
	mux.HandleFunc("GET /api/live", s.serveLive)
	mux.HandleFunc("POST /api/check", post(s.check))
	mux.HandleFunc("POST /api/apply", post(s.applyConfig))
	mux.HandleFunc("POST /api/traffic", post(s.setTraffic))
	mux.HandleFunc("POST /api/explain", post(s.explain))
	mux.HandleFunc("POST /api/send", post(s.sendOne))
	mux.HandleFunc("POST /api/redis", post(s.breakRedis))
	return s.guard(mux)
}

// userError is what a person can mend.
type userError struct{ error }

func mistake(err error) error {
	if err == nil {
		return nil
	}
	return userError{err}
}

// post is a handler that takes JSON and answers with JSON.
func post[T any](do func(r *http.Request, in T) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var in T
		dec := json.NewDecoder(r.Body)
		dec.DisallowUnknownFields()
		if err := dec.Decode(&in); err != nil {
			status := http.StatusBadRequest
			var big *http.MaxBytesError
			if errors.As(err, &big) {
				status = http.StatusRequestEntityTooLarge
			}
			answer(w, status, failure{err.Error()})
			return
		}
		out, err := do(r, in)
		switch {
		case errors.As(err, &userError{}):
			// An answer, not a failure: browsers complain of those in their console.
			answer(w, http.StatusOK, failure{err.Error()})
		case err != nil:
			answer(w, http.StatusBadGateway, failure{err.Error()})
		default:
			answer(w, http.StatusOK, out)
		}
	}
}

type failure struct {
	Error string `json:"error"`
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the page may have gone
}

type textIn struct {
	Text string `json:"text"`
}

type checked struct {
	Problems []Problem     `json:"problems"`
	Limits   []LimitLegend `json:"limits,omitempty"`
	Notes    []string      `json:"notes,omitempty"`
	Config   any           `json:"config,omitempty"` // what is in force after an Apply
}

func (s *Server) check(_ *http.Request, in textIn) (any, error) {
	policy, a, wrong := s.o.Settings.check(in.Text)
	if len(wrong) > 0 {
		return checked{Problems: wrong}, nil
	}
	return checked{Problems: []Problem{}, Limits: legends(policy), Notes: a.notes}, nil
}

func (s *Server) applyConfig(r *http.Request, in textIn) (any, error) {
	wrong, err := s.o.Settings.Apply(r.Context(), in.Text, "page")
	if err != nil {
		return nil, err
	}
	if len(wrong) > 0 {
		return checked{Problems: wrong}, nil
	}
	s.Changed()
	return checked{Problems: []Problem{}, Config: s.configView()}, nil
}

// Changed tells all pages that another configuration is in force.
func (s *Server) Changed() { s.hub.send(event{"config", s.configView()}) }

func (s *Server) setTraffic(_ *http.Request, in Traffic) (any, error) {
	if err := s.load.set(in); err != nil {
		return nil, mistake(err)
	}
	return s.load.state(), nil
}

func (s *Server) explain(r *http.Request, in textIn) (any, error) {
	a, err := s.ask(in.Text)
	if err != nil {
		return nil, mistake(err)
	}
	x, err := s.explained(r.Context(), s.o.Settings.Now().Engine, a)
	return x, mistake(err)
}

// ask reads a request; where it names no host it is for the gateway's.
func (s *Server) ask(line string) (*Ask, error) {
	a, err := ParseAsk(line)
	if err != nil {
		return nil, err
	}
	if a.Host == "" {
		a.Host = s.gatewayHost()
	}
	return a, nil
}

func (s *Server) gatewayHost() string {
	const scheme = "http://"
	return s.o.Gateway[len(scheme):]
}

// sendOne sends a typed request to the gateway, wherever its URL points.
func (s *Server) sendOne(r *http.Request, in textIn) (any, error) {
	a, err := s.ask(in.Text)
	if err != nil {
		return nil, mistake(err)
	}
	if a.Method == http.MethodConnect {
		return nil, mistake(errors.New("CONNECT can be explained but not sent"))
	}
	var headers []header
	for _, h := range a.Headers {
		headers = append(headers, header{h.Name, h.Value})
	}
	req, err := newRequest(s.o.Gateway, a.Method, a.Path, a.Host, headers)
	if err != nil {
		return nil, mistake(err)
	}
	client := newClient(0)
	defer client.CloseIdleConnections()
	x := do(client, req.WithContext(r.Context()))
	return x.full(req), nil
}

type redisIn struct {
	Do string `json:"do"`
}

func (s *Server) breakRedis(_ *http.Request, in redisIn) (any, error) {
	server := s.o.Server
	if server == nil {
		return nil, mistake(errors.New("this Redis isn't sluice dev's own"))
	}
	var err error
	switch in.Do {
	case "pause":
		err = server.Pause()
	case "resume":
		err = server.Resume()
	case "kill":
		err = server.Kill()
	case "start":
		err = server.Start()
	default:
		return nil, mistake(fmt.Errorf("this Redis can be paused, resumed, killed and started, not %q", in.Do))
	}
	if err != nil {
		return nil, err
	}
	return struct {
		State string `json:"state"`
	}{server.State()}, nil
}

package playground

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"
)

const (
	// sampleEvery is the time between two samples.
	sampleEvery = time.Second
	// historyLen is how many samples a page that opens is given.
	historyLen = 60
	// maxStreams bounds the pages that are open.
	maxStreams = 8
	// closedAfter is how long traffic outlives the last page, so that one that is
	// loaded anew doesn't end it.
	closedAfter = 5 * time.Second
)

// event is a message to the pages.
type event struct {
	name string
	data any
}

// hub hands events to the pages that are open.
type hub struct {
	mu      sync.Mutex
	streams map[chan event]bool
	history []Sample
	left    time.Time // when the last page was closed
}

func (h *hub) join() (chan event, []Sample, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.streams) >= maxStreams {
		return nil, nil, errBusy
	}
	if h.streams == nil {
		h.streams = map[chan event]bool{}
	}
	c := make(chan event, 16)
	h.streams[c] = true
	return c, append([]Sample{}, h.history...), nil
}

func (h *hub) leave(c chan event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.streams, c)
	h.left = time.Now()
}

// send gives an event to every page; one that is behind misses it.
func (h *hub) send(e event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s, ok := e.data.(Sample); ok {
		h.history = append(h.history, s)
		h.history = h.history[max(0, len(h.history)-historyLen):]
	}
	for c := range h.streams {
		select {
		case c <- e:
		default:
		}
	}
}

// open reports whether a page is open, or was a moment ago.
func (h *hub) open() (now, lately bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now = len(h.streams) > 0
	return now, now || time.Since(h.left) < closedAfter
}

// live takes samples while a page is open, and ends traffic that nobody watches.
func (s *Server) live(ctx context.Context) {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		watched, lately := s.hub.open()
		if !lately {
			s.load.stop()
		}
		if !watched {
			continue
		}
		sample := s.sampler.take(ctx)
		sample.Traffic = s.load.state()
		s.hub.send(event{"sample", sample})
		if a := s.load.takeAnswers(); len(a.Answers) > 0 {
			s.hub.send(event{"answers", a})
		}
	}
}

// serveLive streams events to a page until it is closed.
func (s *Server) serveLive(w http.ResponseWriter, r *http.Request) {
	c, history, err := s.hub.join()
	if err != nil {
		refuse(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	defer s.hub.leave(c)
	w.Header().Set("Content-Type", "text/event-stream")
	ctl := http.NewResponseController(w)
	_ = ctl.SetReadDeadline(time.Time{}) // the server's is for requests that end
	write := func(e event) error {
		data, err := json.Marshal(e.data)
		if err != nil {
			return err
		}
		if err := ctl.SetWriteDeadline(time.Now().Add(readTimeout)); err != nil {
			return err
		}
		if _, err := w.Write([]byte("event: " + e.name + "\ndata: " + string(data) + "\n\n")); err != nil {
			return err
		}
		return ctl.Flush()
	}
	if err := write(event{"hello", s.hello(history)}); err != nil {
		return
	}
	for {
		select {
		case <-r.Context().Done():
			return
		case e := <-c:
			if write(e) != nil {
				return
			}
		}
	}
}

// hello is what a page is told first.
func (s *Server) hello(history []Sample) any {
	return struct {
		Gateway string   `json:"gateway"`
		Admin   string   `json:"admin"`
		Config  any      `json:"config"`
		Breaks  bool     `json:"breaks"` // Redis may be broken from here
		Callers bool     `json:"callers"`
		Samples []Sample `json:"samples"`
	}{s.o.Gateway, string(s.o.Admin), s.configView(), s.o.Server != nil, s.load.addresses, history}
}

package goabi

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
)

// recorder is a program that notes its callbacks.
type recorder struct {
	notes []string
	none  bool // it makes no streams
}

func (r *recorder) note(what string, id uint32) {
	r.notes = append(r.notes, what+" "+strconv.Itoa(int(id)))
}

func (r *recorder) take() []string {
	n := r.notes
	r.notes = nil
	return n
}

func (r *recorder) NewPluginContext(id uint32) Plugin {
	r.note("plugin", id)
	return &recordedPlugin{r, id}
}

type recordedPlugin struct {
	r  *recorder
	id uint32
}

func (p *recordedPlugin) OnPluginStart(int) bool { return true }
func (p *recordedPlugin) OnTick()                { p.r.note("tick", p.id) }

func (p *recordedPlugin) NewHttpContext(id uint32) Stream {
	p.r.note("stream", id)
	if p.r.none {
		return nil
	}
	return &recordedStream{p: p, id: id}
}

func (p *recordedPlugin) OnPluginDone() bool {
	p.r.note("done", p.id)
	return p.id != 9
}

type recordedStream struct {
	Idle
	p    *recordedPlugin
	id   uint32
	ends int
}

func (s *recordedStream) OnHttpStreamDone() {
	s.p.r.note("end", s.id)
	s.ends++
}

func expect(t *testing.T, r *recorder, want ...string) {
	t.Helper()
	if got := r.take(); !slices.Equal(got, want) {
		t.Errorf("callbacks %q, want %q", got, want)
	}
}

func TestLifeOfAStream(t *testing.T) {
	r := &recorder{}
	c := &Contexts{VM: r}
	c.Create(1, 0)
	c.Create(2, 1)
	expect(t, r, "plugin 1", "stream 2")
	if c.Plugin(1) == nil || c.Stream(2) == nil || c.Plugin(2) != nil || c.Stream(1) != nil {
		t.Error("a context isn't found, or one of the wrong kind")
	}
	c.End(2) // as proxy_on_log
	expect(t, r, "end 2")
	if !c.Done(2) {
		t.Error("it may not go")
	}
	c.Delete(2)
	expect(t, r)
	if c.Stream(2) != nil || c.Streams() != 0 {
		t.Error("it is still there")
	}

	c.Create(3, 1) // which isn't logged
	c.Done(3)
	c.Delete(3)
	c.Create(4, 1) // which is only deleted
	c.Delete(4)
	expect(t, r, "stream 3", "end 3", "stream 4", "end 4")
}

func TestLifeOfAConfiguration(t *testing.T) {
	r := &recorder{}
	c := &Contexts{VM: r}
	c.Create(1, 0)
	c.Create(9, 0)
	c.Create(1, 0) // is there
	c.Create(10, 9)
	expect(t, r, "plugin 1", "plugin 9", "stream 10")
	if !c.Done(1) || c.Done(9) {
		t.Error("another answer than the configuration's own")
	}
	c.Delete(1)
	expect(t, r, "done 1", "done 9")
	if c.Plugin(1) != nil || c.Plugin(9) == nil {
		t.Error("the wrong one is gone")
	}
	c.Create(11, 1) // of one that is gone
	c.Create(12, 9)
	c.Delete(9)
	c.Create(13, 9)
	if c.Plugin(9) != nil || c.Stream(11) != nil || c.Stream(13) != nil || c.Stream(12) == nil {
		t.Error("a stream of no configuration, or none of one")
	}
}

// A number that the host gives anew ends the stream that had it.
func TestNumberGivenAnew(t *testing.T) {
	r := &recorder{}
	c := &Contexts{VM: r}
	c.Create(1, 0)
	c.Create(2, 1)
	first := c.Stream(2)
	c.Create(2, 1)
	if c.Stream(2) == first || c.Streams() != 1 {
		t.Error("the first one is still there")
	}
	c.End(2)
	expect(t, r, "plugin 1", "stream 2", "stream 2", "end 2", "end 2")
}

func TestStreamOfNobody(t *testing.T) {
	r := &recorder{none: true}
	c := &Contexts{VM: r}
	c.Create(1, 0)
	c.Create(2, 1)
	if c.Stream(2) != nil || c.Streams() != 0 {
		t.Error("there is a stream")
	}
	c.End(2)
	c.Delete(2)
	expect(t, r, "plugin 1", "stream 2")
	(&Contexts{}).Create(1, 0) // without a program
}

// No order of calls with any numbers panics, and every stream ends once.
func TestAnyCalls(t *testing.T) {
	numbers := []uint32{0, 1, 2, 3, 4, 9, 1<<31 - 1, 1 << 31, 1<<32 - 1}
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		r := &recorder{}
		c := &Contexts{VM: r}
		var all []*recordedStream
		for range 500 {
			id, other := numbers[rnd.IntN(len(numbers))], numbers[rnd.IntN(len(numbers))]
			switch rnd.IntN(5) {
			case 0:
				c.Create(id, 0)
			case 1:
				before := c.Stream(id)
				c.Create(id, other)
				if s := c.Stream(id); s != nil && s != before {
					all = append(all, s.(*recordedStream))
				}
			case 2:
				c.End(id)
			case 3:
				c.Done(id)
			case 4:
				c.Delete(id)
			}
		}
		living := 0
		for _, s := range all {
			if c.Stream(s.id) == Stream(s) {
				living++
				if s.ends != 0 {
					t.Fatal("a stream ended and is still there")
				}
			} else if s.ends != 1 {
				t.Fatalf("a stream ended %d times", s.ends)
			}
		}
		if living != c.Streams() {
			t.Fatalf("%d streams are there, %d are counted", living, c.Streams())
		}
	}
}

package plugin

import (
	"slices"
	"strconv"

	"sluice/internal/host/hosttest"
	"sluice/redisproto"
)

// conversation lets a test that plays Redis answer request by request, whatever
// calls they share: commands are seen as if each had a call of its own, and replies
// to those that share one go out together, with the last.
type conversation struct {
	owed []int  // replies that make up each of the next messages, oldest first
	have int    // of those of the first message
	acc  []byte // of them
}

func (r *rig) conversation(st *hosttest.Stream) *conversation {
	if r.conversations == nil {
		r.conversations = map[*hosttest.Stream]*conversation{}
	}
	c := r.conversations[st]
	if c == nil {
		c = &conversation{}
		r.conversations[st] = c
	}
	return c
}

// taken returns the commands that were sent on a stream since the last time.
func (r *rig) taken(st *hosttest.Stream) (out [][]string) {
	r.t.Helper()
	c := r.conversation(st)
	d := redisproto.NewDecoder(redisproto.Limits{})
	d.Feed(st.TakeSent())
	for {
		v, ok, err := d.Next()
		if err != nil {
			r.t.Fatal(err)
		}
		if !ok {
			return out
		}
		var cmd []string
		for _, e := range v.Elems {
			cmd = append(cmd, string(e.Str))
		}
		apart := eachAlone(cmd)
		c.owed = append(c.owed, len(apart))
		out = append(out, apart...)
	}
}

// eachAlone are the calls that a call for several requests stands for.
func eachAlone(cmd []string) (out [][]string) {
	const sha, keys = 1, 3
	if cmd[0] != "EVALSHA" {
		return [][]string{cmd}
	}
	n, _ := strconv.Atoi(cmd[2])
	clock := keys + n
	if cmd[clock+1] != "+" {
		return [][]string{cmd}
	}
	key := keys
	for p := clock + 2; p < len(cmd); {
		n, _ := strconv.Atoi(cmd[p])
		size, _ := strconv.Atoi(cmd[p+1])
		args := cmd[p+2 : p+3+size]
		out = append(out, slices.Concat([]string{"EVALSHA", cmd[sha], cmd[p]}, cmd[key:key+n], cmd[clock:clock+1], args))
		p, key = p+3+size, key+n
	}
	return out
}

// receive has Redis reply to the oldest of a stream's commands; false when the
// stream has ended.
func (r *rig) receive(st *hosttest.Stream, reply []byte) bool {
	c := r.conversation(st)
	if len(c.owed) == 0 || c.owed[0] == 1 {
		if len(c.owed) > 0 {
			c.owed = c.owed[1:]
		}
		return st.Receive(reply)
	}
	c.acc = append(c.acc, reply...)
	if c.have++; c.have < c.owed[0] {
		return !st.Cancelled && !st.Closed
	}
	all := append([]byte("*"+strconv.Itoa(c.owed[0])+"\r\n"), c.acc...)
	c.owed, c.have, c.acc = c.owed[1:], 0, nil
	return st.Receive(all)
}

package luatest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"sluice/internal/limit"
	"sluice/lua"
	"sluice/redisproto"
)

// BenchmarkRedisCPU measures what one call costs the Redis process, its socket
// work included: several rounds of all cases in turn, by Redis's own clock, first
// pipelined and then one by one. It needs Linux. The table that it prints is the
// result; the benchmark's own time says nothing.
func BenchmarkRedisCPU(b *testing.B) {
	rdb := client(b)
	var cases []*cpuCase
	bare := func(name, source string) {
		argv := []any{"", "request-1", 1, 0, 1, 1_000_000, 60_000}
		key := freshKey("bare")
		rdb.Set(ctx, key, strings.Repeat("x", 44), 0)
		cases = append(cases, &cpuCase{name: name, source: source, call: func(int) ([]string, []any) {
			return []string{key}, argv
		}})
	}
	const clock = "local t=redis.call('TIME') "
	bare("bare: seven numbers", "return {1,1,1,1,1,1,1}")
	bare("bare: and TIME", clock+"return {t[1]*1000000+t[2],1,1,1,1,1,1}")
	bare("bare: and GET", clock+"redis.call('GET',KEYS[1]) return {t[1]*1000000+t[2],1,1,1,1,1,1}")
	bare("bare: and SETRANGE", clock+"redis.call('GET',KEYS[1]) redis.call('SETRANGE',KEYS[1],'31','1234567890123') return {t[1]*1000000+t[2],1,1,1,1,1,1}")
	bare("bare: SET PX instead", clock+"redis.call('GET',KEYS[1]) redis.call('SET',KEYS[1],'12345678901234567890123456789012345678901234','PX','60000') return {t[1]*1000000+t[2],1,1,1,1,1,1}")

	script := func(name string, cs ...counter) {
		c := newCaller(b, rdb)
		var names []string
		for i := range cs {
			names = append(names, cs[i].alg.Script)
			cs[i].key, cs[i].cost = freshKey(cs[i].alg.Suffix), 1
		}
		c.script = lua.Compose(names...)
		cases = append(cases, &cpuCase{name: name, source: c.script.Source, call: func(i int) ([]string, []any) {
			return c.args(-1, "request-"+strconv.Itoa(i), cs...)
		}})
	}
	for _, alg := range limit.Algorithms() {
		for _, lim := range []int64{1_000_000_000, 100} {
			name := strings.TrimSuffix(alg.Name+", "+alg.Storage, ", ")
			if lim == 100 {
				name += ", full"
			}
			script(name, counter{alg: alg, p: limit.Params{Limit: lim, WindowMS: 3_600_000, HoldMS: 3_600_000, Calendar: &limit.Calendar{Unit: limit.Day}}})
		}
	}
	for n := 2; n <= 3; n++ {
		script(strconv.Itoa(n)+" levels", threeLevels()[:n]...)
	}
	compare(b, rdb, 5, 8000, []int{32, 1}, cases)
	var table strings.Builder
	for _, c := range cases {
		fmt.Fprintf(&table, "\n| %-24s", c.name)
		for _, depth := range []int{32, 1} {
			us := slices.Sorted(slices.Values(c.us[depth]))
			fmt.Fprintf(&table, " | %5.2f (%.2f-%.2f)", us[len(us)/2], us[0], us[len(us)-1])
		}
	}
	fmt.Printf("Redis CPU us a call: median (least-most)\n| call | pipelines of 32 | one by one%s\n", table.String()) // b.Log cuts it
}

// threeLevels are counters as one request has them: per address, per user, in all.
func threeLevels() []counter {
	return []counter{
		{alg: limit.FixedWindow, cost: 1, p: limit.Params{Limit: 1_000_000_000, WindowMS: 1000}},
		{alg: limit.SlidingLog, cost: 1, p: limit.Params{Limit: 1_000_000_000, WindowMS: 86_400_000}},
		{alg: limit.TokenBucket, cost: 1, p: limit.Params{Limit: 5000, WindowMS: 1000, Burst: 1_000_000}},
	}
}

// cpuCase is a call whose cost is measured.
type cpuCase struct {
	name   string
	source string
	call   func(i int) (keys []string, argv []any) // KEYS and ARGV of the i-th call
	us     map[int][]float64                       // CPU us a call, one a round, by how many are sent at once
}

// redisCPU is how long the Redis process has run, ns.
func redisCPU(t testing.TB) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(b), " ")
	ns, err := strconv.ParseInt(first, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return ns
}

// compare measures the cases in turn, for some rounds of calls, sent depth at once.
func compare(t testing.TB, rdb *redis.Client, rounds, calls int, depths []int, cases []*cpuCase) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	in := bufio.NewReaderSize(conn, 1<<16)
	n := 0
	run := func(c *cpuCase, sha string, count, depth int) {
		var out []byte
		for done := 0; done < count; done += depth {
			out = out[:0]
			for range depth {
				keys, argv := c.call(n)
				n++
				out = redisproto.AppendArray(out, 3+len(keys)+len(argv))
				out = redisproto.AppendBulkString(out, "EVALSHA")
				out = redisproto.AppendBulkString(out, sha)
				out = redisproto.AppendBulkInt(out, int64(len(keys)))
				for _, k := range keys {
					out = redisproto.AppendBulkString(out, k)
				}
				for _, a := range argv {
					out = redisproto.AppendBulkString(out, fmt.Sprint(a))
				}
			}
			if _, err := conn.Write(out); err != nil {
				t.Fatal(err)
			}
			for range depth {
				if err := skipReply(in); err != nil {
					t.Fatalf("%s: %v", c.name, err)
				}
			}
		}
	}
	for _, c := range cases {
		c.us = map[int][]float64{}
	}
	for range rounds {
		for _, c := range cases {
			sha := rdb.ScriptLoad(ctx, c.source).Val()
			run(c, sha, 2000, 32)
			for _, depth := range depths {
				before := redisCPU(t)
				run(c, sha, calls, depth)
				c.us[depth] = append(c.us[depth], float64(redisCPU(t)-before)/float64(calls)/1000)
			}
		}
	}
}

func skipReply(in *bufio.Reader) error {
	line, err := in.ReadString('\n')
	if err != nil {
		return err
	}
	switch line[0] {
	case '-':
		return fmt.Errorf("%s", line)
	case '*':
		n, _ := strconv.Atoi(strings.TrimSpace(line[1:]))
		for range n {
			if err := skipReply(in); err != nil {
				return err
			}
		}
	case '$':
		n, _ := strconv.Atoi(strings.TrimSpace(line[1:]))
		if n >= 0 {
			_, err = io.CopyN(io.Discard, in, int64(n)+2)
		}
	}
	return err
}

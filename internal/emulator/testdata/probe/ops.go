//go:build wasip1

package main

import (
	"os"
	"strconv"
	"strings"

	"sluice/internal/goabi"
	"sluice/internal/host"
)

// op is one operation. c is nil outside a request.
type op func(p *pluginContext, c *httpContext, args []string)

var ops = map[string]op{}

// run does the operations that a header field lists, and returns what the
// callback is to answer.
func (p *pluginContext) run(c *httpContext, todo string) goabi.Action {
	action := goabi.Continue
	for _, o := range strings.Fields(todo) {
		name, rest, _ := strings.Cut(o, ",")
		var args []string
		if rest != "" {
			args = strings.Split(rest, ",")
		}
		if name == "pause" {
			action = goabi.Pause
			continue
		}
		f := ops[name]
		if f == nil {
			proxy.Log(host.Error, "no operation "+name)
			continue
		}
		f(p, c, args)
	}
	return action
}

// result logs what an operation found: its status, and a value.
func result(name string, outcome any, value any) {
	line := name + ": "
	switch o := outcome.(type) {
	case nil:
		line += "0"
	case goabi.Status:
		line += strconv.Itoa(int(o))
	case host.Status:
		line += strconv.Itoa(int(o))
	}
	switch v := value.(type) {
	case string:
		line += " " + v
	case []byte:
		line += " " + string(v)
	case uint32:
		line += " " + strconv.Itoa(int(v))
	case uint64:
		line += " " + strconv.FormatUint(v, 10)
	case int64:
		line += " " + strconv.FormatInt(v, 10)
	}
	proxy.Log(host.Info, strings.TrimSuffix(line, " "))
}

// logMap logs a header map read both as pairs and by its first name.
func logMap(name string, m uint32) {
	raw, s := goabi.GetHeaderMapPairs(m)
	p := host.ReadPairs(raw)
	var text []string
	for k, v, ok := p.Next(); ok; k, v, ok = p.Next() {
		text = append(text, k+"="+v)
	}
	result(name, s, strings.Join(text, " "))
}

func number(s string) uint32 {
	n, _ := strconv.ParseUint(s, 10, 32)
	return uint32(n)
}

// pairs makes a serialised map of name, value, name, value…
func pairs(args []string) []byte {
	var fields [][2]string
	for i := 0; i+1 < len(args); i += 2 {
		fields = append(fields, [2]string{args[i], args[i+1]})
	}
	return host.AppendPairs(nil, fields)
}

func init() {
	ops["arm"] = func(_ *pluginContext, _ *httpContext, args []string) { armed[args[0]] = true }
	ops["answer-panics"] = func(_ *pluginContext, _ *httpContext, args []string) { pausing = args[0] == "pause" }
	ops["at-tick"] = func(p *pluginContext, _ *httpContext, args []string) {
		p.tickOp = strings.ReplaceAll(strings.Join(args, ","), "/", " ")
	}
	ops["env"] = func(_ *pluginContext, _ *httpContext, args []string) {
		result("env", nil, proxy.Env(args[0])+"|"+os.Getenv(args[0]))
	}
	ops["nil-map"] = func(*pluginContext, *httpContext, []string) {
		var m map[string]int
		m["a"] = 1
	}
	ops["nil-pointer"] = func(*pluginContext, *httpContext, []string) {
		var c *httpContext
		c.id++
	}
	ops["index"] = func(_ *pluginContext, _ *httpContext, args []string) {
		proxy.Log(host.Info, args[len(args)+1])
	}
	ops["exit"] = func(*pluginContext, *httpContext, []string) {
		os.Stderr.WriteString("last words\nand an unfinished line")
		os.Exit(3)
	}
	ops["overflow-the-stack"] = func(*pluginContext, *httpContext, []string) { forever(1) }
	ops["deep"] = func(_ *pluginContext, _ *httpContext, args []string) {
		result("deep", nil, deep(int(number(args[0])), args[1]))
	}
	// What a request of a real plugin might do, for the benchmark.
	ops["typical"] = func(_ *pluginContext, c *httpContext, _ []string) {
		c.ops.Get("x-user-id")
		proxy.Property("source\x00address")
		proxy.Now()
		proxy.AddHeader(host.RequestHeaders, "x-checked", "1")
		proxy.SetProperty("decision", []byte("allow"))
	}
}

func forever(n int) int { return forever(n+1) + 1 }

// deep makes a host call that returns a value at every depth of a recursion, so
// that the stack grows while the host is asked.
func deep(n int, name string) string {
	var pad [256]byte
	v, _ := goabi.GetHeaderMapValue(uint32(host.RequestHeaders), name)
	pad[n%len(pad)] = byte(len(v))
	if n == 0 {
		return v
	}
	if rest := deep(n-1, name); rest != v || pad[n%len(pad)] != byte(len(v)) {
		return "different at " + strconv.Itoa(n)
	}
	return v
}

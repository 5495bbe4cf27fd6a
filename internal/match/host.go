package match

import (
	"strings"

	"sluice/internal/source"
)

func init() { special["host"] = parseHost }

// hostCondition is a condition on the host that a request is for.
type hostCondition struct {
	common
	exact    set
	suffixes []string // with their leading dot
}

func parseHost(s source.Source, texts []string, _ *source.Options) (Condition, error) {
	c := &hostCondition{common: common{src: s, texts: texts}}
	var exact []string
	for i, t := range texts {
		done, err := c.take(i, t, "(?i)")
		if err != nil {
			return nil, err
		}
		if done {
			continue
		}
		rest, wild := strings.CutPrefix(t, "*.")
		if strings.ContainsAny(rest, "*/ ") || rest == "" {
			return nil, &TextError{i, "a host is a name, or *. and a name for all below it"}
		}
		n := source.NormalizeHost(rest)
		if port := hostPort(rest); port != "" {
			return nil, &TextError{i, "a host is written without its port: " + strings.TrimSuffix(t, port)}
		}
		if n == "" {
			return nil, &TextError{i, "\"" + t + "\" is not a host"}
		}
		if wild {
			c.suffixes = append(c.suffixes, "."+n)
		} else {
			exact = append(exact, n)
		}
	}
	c.exact = newSet(exact)
	return c, nil
}

// hostPort returns the colon and port at the end of h, or "".
func hostPort(h string) string {
	i := strings.LastIndexByte(h, ':')
	if i < 0 || i < strings.LastIndexByte(h, ']') {
		return ""
	}
	return h[i:]
}

func (c *hostCondition) Holds(v *source.View) bool {
	h := v.Host()
	if h != "" {
		if c.exact.has(h) {
			return true
		}
		for _, s := range c.suffixes {
			if len(h) > len(s) && strings.HasSuffix(h, s) {
				return true
			}
		}
	}
	return c.any(h, h != "")
}

package match

import (
	"sluice/internal/ipaddr"
	"sluice/internal/source"
)

func init() { special["ip"] = parseIP }

// ipCondition is a condition on the client's address.
type ipCondition struct {
	common
	ranges   source.CIDRs
	prefixes []ipaddr.Prefix
}

func parseIP(s source.Source, texts []string, _ *source.Options) (Condition, error) {
	c := &ipCondition{common: common{src: s, texts: texts}}
	for i, t := range texts {
		done, err := c.take(i, t, "")
		if err != nil {
			return nil, err
		}
		if done {
			continue
		}
		p, err := source.ParseCIDR(t)
		if err != nil {
			return nil, &TextError{i, err.Error()}
		}
		c.ranges.Add(p)
		c.prefixes = append(c.prefixes, p)
	}
	return c, nil
}

func (c *ipCondition) Holds(v *source.View) bool {
	a, ok := v.ClientIP()
	if ok && c.contains(a) {
		return true
	}
	if len(c.regexps) > 0 {
		return c.any(c.src.Value(v))
	}
	return c.any("", ok)
}

// contains looks through few ranges, which is faster, and up many.
func (c *ipCondition) contains(a ipaddr.Addr) bool {
	if len(c.prefixes) > 8 {
		return c.ranges.Contains(a)
	}
	for _, p := range c.prefixes {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

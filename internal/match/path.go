package match

import "sluice/internal/source"

func init() { special["path"] = parsePath }

// pathCondition is a condition on the normalised path.
type pathCondition struct {
	common
	templates []*source.Template
}

func parsePath(s source.Source, texts []string, o *source.Options) (Condition, error) {
	c := &pathCondition{common: common{src: s, texts: texts}}
	// A path that ignores case arrives in lower case.
	flags := ""
	if o != nil && o.IgnoreCase {
		flags = "(?i)"
	}
	for i, t := range texts {
		done, err := c.take(i, t, flags)
		if err != nil {
			return nil, err
		}
		if done {
			continue
		}
		tmpl, err := source.ParseTemplate(t, o)
		if err != nil {
			return nil, &TextError{i, err.Error()}
		}
		c.templates = append(c.templates, tmpl)
	}
	return c, nil
}

func (c *pathCondition) Holds(v *source.View) bool {
	p := v.Path()
	for _, t := range c.templates {
		if t.Matches(p) {
			return true
		}
	}
	return c.any(p, p != "")
}

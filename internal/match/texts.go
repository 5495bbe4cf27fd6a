package match

// Texts returns a condition's alternatives as they were written, for tools that
// compare conditions.
func Texts(c Condition) []string {
	if t, ok := c.(interface{ alternatives() []string }); ok {
		return t.alternatives()
	}
	return nil
}

func (c *common) alternatives() []string { return c.texts }

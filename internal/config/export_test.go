package config

// ParseAll is Parse with the fields that nothing obeys yet.
func ParseAll(data []byte) (*Policy, Errors) { return parse(data, true) }

// SoonFields lists the fields of a limit that nothing obeys yet.
func SoonFields() []string {
	var names []string
	for _, f := range limitTable.fields {
		if f.soon {
			names = append(names, f.info.Name)
		}
	}
	return names
}

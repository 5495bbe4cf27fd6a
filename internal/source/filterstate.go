package source

func init() {
	register(Kind{Name: "filter_state", Sep: ':', Arg: "NAME", Example: "filter_state:tenant",
		Doc:   "A filter state object that an earlier filter set, as text.",
		Parse: func(arg string) (Source, error) { return filterState{arg}, nil }})
}

// filterState is a filter state object.
type filterState struct{ name string }

func (f filterState) attribute() string { return "filter_state\x00" + f.name }

func (f filterState) String() string { return "filter_state:" + f.name }

func (f filterState) Value(v *View) (string, bool) { return attributeText(v, f.attribute()) }

// Attributes lists the object.
func (f filterState) Attributes(*Options) []string { return []string{f.attribute()} }

package source

func init() {
	register(Kind{Name: "host", Bare: true, Example: "host",
		Doc:   "The host that the request is for: lower case, without port and final dot.",
		Parse: func(string) (Source, error) { return Host{}, nil }})
}

// Host is the host that the request is for.
type Host struct{}

func (Host) String() string { return "host" }

func (Host) Value(v *View) (string, bool) { return present(v.Host(), true) }

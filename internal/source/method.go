package source

func init() {
	register(Kind{Name: "method", Bare: true, Example: "method",
		Doc:   "The request's method, in upper case.",
		Parse: func(string) (Source, error) { return Method{}, nil }})
}

// Method is the request's method.
type Method struct{}

func (Method) String() string { return "method" }

func (Method) Value(v *View) (string, bool) { return present(v.Method(), true) }

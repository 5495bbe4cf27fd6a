package source

func init() {
	register(Kind{Name: "const", Sep: ':', Arg: "TEXT", Example: "const:checkout",
		Doc:   "The text itself, the same for every request.",
		Parse: func(arg string) (Source, error) { return Const{arg}, nil }})
}

// Const is a fixed text.
type Const struct{ text string }

func (c Const) String() string { return "const:" + c.text }

func (c Const) Value(*View) (string, bool) { return c.text, true }

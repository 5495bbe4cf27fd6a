package source

import "errors"

func init() {
	register(Kind{Name: "path_param", Sep: ':', Arg: "NAME", Example: "path_param:id",
		Doc:   "The segment that `{NAME}` stands for in the limit's path template.",
		Parse: parseParam})
}

// Binder is a Source that needs to know the path templates of the limit that it
// is used in.
type Binder interface {
	// Bind returns the source to use in a limit whose path matches one of
	// templates, or an error when they lack what it names.
	Bind(templates []*Template) (Source, error)
}

// param is a parameter of a path template.
type param struct {
	name string
	// fits are the templates that have the parameter, with its segment's
	// number; empty until bound.
	fits []place
}

type place struct {
	template *Template
	segment  int
}

func parseParam(arg string) (Source, error) {
	if !ident(arg) {
		return nil, errors.New("\"" + arg + "\" is not a parameter's name")
	}
	return &param{name: arg}, nil
}

func (p *param) String() string { return "path_param:" + p.name }

// Bind finds the parameter in templates.
func (p *param) Bind(templates []*Template) (Source, error) {
	bound := &param{name: p.name}
	for _, t := range templates {
		if n := t.Param(p.name); n > 0 {
			bound.fits = append(bound.fits, place{t, n})
		}
	}
	if len(bound.fits) == 0 {
		return nil, errors.New("no path in match has {" + p.name + "}")
	}
	return bound, nil
}

func (p *param) Value(v *View) (string, bool) {
	path := v.Path()
	for _, f := range p.fits {
		if f.template.Matches(path) {
			return Segment(path, f.segment)
		}
	}
	return "", false
}

package source

func init() {
	register(Kind{Name: "route", Bare: true, Example: "route",
		Doc:   "The name of the route that Envoy chose; an unnamed route has none.",
		Parse: func(string) (Source, error) { return route{}, nil }})
}

// route is the name of the route.
type route struct{}

const routeName = "xds\x00route_name"

func (route) String() string { return "route" }

func (route) Value(v *View) (string, bool) { return attributeText(v, routeName) }

// Attributes lists the route's name.
func (route) Attributes(*Options) []string { return []string{routeName} }

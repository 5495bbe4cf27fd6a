package source

import (
	"errors"
	"strconv"
)

func init() {
	register(Kind{Name: "path", Bare: true, Example: "path",
		Doc:   "The path without the query, in one spelling.",
		Parse: func(string) (Source, error) { return Path{}, nil }})
	register(Kind{Name: "path", Sep: ':', Arg: "N", Example: "path:2",
		Doc:   "The path's N-th segment, counted from 1: `path:2` of `/api/orders/7` is `orders`.",
		Parse: parseSegment})
}

// Path is the normalised path.
type Path struct{}

func (Path) String() string { return "path" }

// Value returns the path.
func (Path) Value(v *View) (string, bool) { return present(v.Path(), true) }

// pathSegment is one segment of the normalised path, counted from 1.
type pathSegment int

func parseSegment(arg string) (Source, error) {
	n, err := strconv.ParseUint(arg, 10, 16)
	if err != nil || n < 1 || n > maxSegments {
		return nil, errors.New("segments of a path are counted from 1 to 64, as in path:2")
	}
	return pathSegment(n), nil
}

func (n pathSegment) String() string { return "path:" + strconv.Itoa(int(n)) }

func (n pathSegment) Value(v *View) (string, bool) { return Segment(v.Path(), int(n)) }

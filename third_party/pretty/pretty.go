// Package pretty stands in for github.com/tidwall/pretty, which gjson needs only
// for its modifiers @pretty and @ugly. Nothing here uses either. Here they leave JSON
// as it is.
package pretty

// Options are how @pretty formats JSON; here they have no effect.
type Options struct {
	Width    int
	Prefix   string
	Indent   string
	SortKeys bool
}

// DefaultOptions are the options that @pretty starts from.
var DefaultOptions = &Options{Width: 80, Indent: "  "}

// Pretty returns json as it is.
func Pretty(json []byte) []byte { return json }

// PrettyOptions returns json as it is.
func PrettyOptions(json []byte, _ *Options) []byte { return json }

// Ugly returns json as it is.
func Ugly(json []byte) []byte { return json }

package match

import (
	"strings"

	"sluice/internal/source"
)

func init() { special["method"] = parseMethod }

func parseMethod(s source.Source, texts []string, o *source.Options) (Condition, error) {
	upper := make([]string, len(texts))
	for i, t := range texts {
		upper[i] = t
		if t == "" || t[0] == '~' || t == "present" || t == "absent" {
			continue
		}
		if !source.Token(t) {
			return nil, &TextError{i, "\"" + t + "\" is not a method"}
		}
		upper[i] = strings.ToUpper(t)
	}
	c, err := parseValues(s, upper, o)
	if err != nil {
		return nil, err
	}
	return c, nil
}

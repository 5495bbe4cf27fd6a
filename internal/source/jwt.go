package source

import (
	"errors"
	"strings"
)

func init() {
	register(Kind{Name: "jwt", Sep: ':', Arg: "CLAIM", Example: "jwt:sub",
		Doc:   "A claim of a token that jwt_authn verified and stored (`payload_in_metadata`); nested ones with dots. `jwt:PAYLOAD_KEY/CLAIM` looks in one payload only.",
		Parse: parseJWT})
}

// jwtNamespace is where jwt_authn stores the payloads of verified tokens.
const jwtNamespace = "envoy.filters.http.jwt_authn"

// jwt is a claim of a verified token.
type jwt struct{ claim string }

func parseJWT(arg string) (Source, error) {
	if strings.Count(arg, ".") > maxDots || strings.Count(arg, "/") > maxDots {
		return nil, errors.New("a claim's name has at most 12 dots and 12 slashes")
	}
	return jwt{arg}, nil
}

func (j jwt) String() string { return "jwt:" + j.claim }

// Value looks for the claim in every payload, then takes what stands before a
// slash for a payload's key: both keys and claims may be URLs.
func (j jwt) Value(v *View) (string, bool) {
	ns, ok := namespace(v.Metadata(), jwtNamespace)
	if !ok {
		return "", false
	}
	// The payloads' order in the message is random: the smallest key decides.
	var best protoValue
	bestKey, found := "", false
	for f := (fields{rest: ns}); f.next(); {
		key, val, ok := f.entry()
		if !ok {
			continue
		}
		payload, ok := val.object()
		if !ok || found && key >= bestKey {
			continue
		}
		if c, ok := structField(payload, j.claim); ok {
			best, bestKey, found = c, key, true
		}
	}
	if found {
		return best.text()
	}
	for i := strings.IndexByte(j.claim, '/'); i >= 0; {
		if val, ok := entryOf(ns, j.claim[:i]); ok {
			if payload, ok := val.object(); ok {
				if c, ok := structField(payload, j.claim[i+1:]); ok {
					return c.text()
				}
			}
		}
		n := strings.IndexByte(j.claim[i+1:], '/')
		if n < 0 {
			break
		}
		i += 1 + n
	}
	return "", false
}

// Attributes lists the metadata.
func (jwt) Attributes(*Options) []string { return []string{metadataAttribute} }

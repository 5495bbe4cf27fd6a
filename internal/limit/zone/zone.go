// Package zone finds time zones by their IANA names. It carries the whole time
// zone database (about 450 kB), because a proxy's module has no file system: only
// what reads calendar quotas from a configuration should import it.
package zone

import (
	"errors"
	"strconv"
	"time"
	_ "time/tzdata" // where the system has no database
)

// Load finds a zone, as Europe/Berlin or UTC. The machine's own zone ("Local")
// isn't one: it would make gateways disagree.
func Load(name string) (*time.Location, error) {
	if name == "" || name == "Local" {
		return nil, errors.New("a time zone is an IANA name such as Europe/Berlin or UTC")
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, errors.New("unknown time zone " + strconv.Quote(name))
	}
	return loc, nil
}

package stack

import "github.com/alicebob/miniredis/v2"

// StandIn is an embedded imitation of Redis, for trying things out where there
// is no Redis. It is slow and keeps no promise about accuracy under load.
type StandIn struct {
	Addr string // host:port

	server *miniredis.Miniredis
}

// StartStandIn starts the imitation on a port; 0 for a free one.
func StartStandIn(port int) (*StandIn, error) {
	server := miniredis.NewMiniRedis()
	if err := server.StartAddr(Addr(port)); err != nil {
		return nil, err
	}
	return &StandIn{Addr: server.Addr(), server: server}, nil
}

// Stop ends it.
func (s *StandIn) Stop() { s.server.Close() }

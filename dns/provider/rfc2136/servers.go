package rfc2136

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// Strategies for the choice of the first server.
const (
	disabled   = "disabled"
	random     = "random"
	roundRobin = "round-robin"
)

var strategies = []string{disabled, random, roundRobin}

// avoidance is how long a failed server is used only if all others have failed.
const avoidance = 30 * time.Second

// servers are the DNS servers, which are expected to have the same zones.
type servers struct {
	addresses []string
	strategy  string

	mu sync.Mutex
	// failed is the time of each server's last failure.
	failed map[string]time.Time
}

// rotation is the position of one kind of request in the list of servers.
type rotation struct{ next int }

func newServers(addresses []string, strategy string) *servers {
	return &servers{addresses: addresses, strategy: strategy, failed: map[string]time.Time{}}
}

// order returns all servers in the order in which they are tried.
func (s *servers) order(t *rotation, now time.Time) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := 0
	switch s.strategy {
	case random:
		first = rand.IntN(len(s.addresses))
	case roundRobin:
		first = t.next
		t.next = (t.next + 1) % len(s.addresses)
	}
	order := slices.Concat(s.addresses[first:], s.addresses[:first])
	slices.SortStableFunc(order, func(a, b string) int { return s.rank(a, now) - s.rank(b, now) })
	return order
}

// rank returns 1 for a server that failed recently, and 0 for others.
func (s *servers) rank(address string, now time.Time) int {
	if at, ok := s.failed[address]; ok && now.Sub(at) < avoidance {
		return 1
	}
	return 0
}

// report notes whether a request to a server failed.
func (s *servers) report(address string, err error, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.failed[address] = now
	} else {
		delete(s.failed, address)
	}
}

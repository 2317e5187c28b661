package rfc2136

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// The strategies for which server is asked first.
const (
	disabled   = "disabled"
	random     = "random"
	roundRobin = "round-robin"
)

var strategies = []string{disabled, random, roundRobin}

// avoidance is how long a server that failed is asked only when all others have failed.
const avoidance = 30 * time.Second

// servers are the DNS servers, which are taken to have the same zones.
type servers struct {
	addresses []string
	strategy  string

	mu sync.Mutex
	// failed is when a server last failed.
	failed map[string]time.Time
}

// turn is where one kind of request is in the list of servers.
type turn struct{ next int }

func newServers(addresses []string, strategy string) *servers {
	return &servers{addresses: addresses, strategy: strategy, failed: map[string]time.Time{}}
}

// order returns all servers in the order in which they are to be tried.
func (s *servers) order(t *turn, now time.Time) []string {
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

// rank is 1 for a server that failed of late, 0 for others.
func (s *servers) rank(address string, now time.Time) int {
	if at, ok := s.failed[address]; ok && now.Sub(at) < avoidance {
		return 1
	}
	return 0
}

// report notes how a server did.
func (s *servers) report(address string, err error, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.failed[address] = now
	} else {
		delete(s.failed, address)
	}
}

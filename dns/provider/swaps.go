package provider

import (
	"fmt"
	"sync"
	"time"

	"github.com/signpostd/signpost/dns"
)

// Pauses after a refused type change. Between the deletion and the creation a name doesn't resolve,
// so a refusal causes an outage for nothing. FirstSwapPause is the pause after the first refusal.
// It doubles with each further one, up to LongestSwapPause.
const (
	FirstSwapPause   = time.Minute
	LongestSwapPause = time.Hour
	// maxSwaps limits the remembered names.
	maxSwaps = 1000
)

// Resolves reports whether clients query records of a type to reach a name, so that a change between two such types leaves a
// gap.
func Resolves(recordType string) bool {
	return recordType == dns.TypeA || recordType == dns.TypeAAAA || recordType == dns.TypeCNAME
}

// Swaps remembers the type changes that a server has refused, for a provider that has to delete the old records of a name
// before it creates those of another type. The zero value remembers none. All methods may be called from any goroutine.
type Swaps struct {
	mu     sync.Mutex
	byName map[string]*refusedSwap
}

// refusedSwap is a refused type change of a name.
type refusedSwap struct {
	failures int
	until    time.Time
	reason   error
}

// Refused notes that the server has refused the type change of a name after its old records were
// deleted.
func (s *Swaps) Refused(name string, reason error, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byName == nil {
		s.byName = map[string]*refusedSwap{}
	}
	r := s.byName[name]
	if r == nil {
		s.evict()
		r = &refusedSwap{}
		s.byName[name] = r
	}
	r.until, r.reason = now.Add(min(FirstSwapPause<<min(r.failures, 10), LongestSwapPause)), reason
	r.failures++
}

// evict removes the name whose pause ends first, if there are too many.
func (s *Swaps) evict() {
	if len(s.byName) < maxSwaps {
		return
	}
	first := ""
	for name, r := range s.byName {
		if first == "" || r.until.Before(s.byName[first].until) {
			first = name
		}
	}
	delete(s.byName, first)
}

// Made notes that the type change of a name was made.
func (s *Swaps) Made(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byName, name)
}

// Paused returns an error that wraps [ErrRejected] if the type change of a name has to wait.
func (s *Swaps) Paused(name string, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.byName[name]
	if r == nil || !now.Before(r.until) {
		return nil
	}
	return fmt.Errorf("%w: this type change was refused %d times, so the old records stay until the next try at %s: %v",
		ErrRejected, r.failures, r.until.UTC().Format(time.TimeOnly), r.reason)
}

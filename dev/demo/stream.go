package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// transcript keeps what a watching client prints; it comes from another goroutine.
type transcript struct {
	mu    sync.Mutex
	lines []string
}

// print shows and keeps a line.
func (t *transcript) print(line string) {
	if line == "" {
		return
	}
	fmt.Println("  " + line)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, line)
}

// has reports whether a line with these words has been printed.
func (t *transcript) has(words string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.ContainsFunc(t.lines, func(line string) bool { return strings.Contains(line, words) })
}

// stream is what the client that watches the endpoints prints: the time, a mark, the
// number of endpoints, the address and more.
type stream struct{ transcript }

// counts returns how many endpoints were added and removed since the stream began, and the
// addresses of those that are there now, in order.
func (s *stream) counts() (come, gone int, now []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	there := map[string]bool{}
	for _, line := range s.lines {
		f := strings.Fields(line)
		switch {
		case len(f) < 4:
		case f[1] == "+":
			come++
			there[f[3]] = true
		case f[1] == "-":
			gone++
			delete(there, f[3])
		}
	}
	return come, gone, slices.Sorted(maps.Keys(there))
}

// seen waits until the watching client has received so many added and removed endpoints,
// and the rest equals the EndpointSlices of web.
func (s *environment) seen(ctx context.Context, come, gone int) error {
	return s.waitFor(ctx, "the watching client to hear of it", time.Minute, func() (bool, error) {
		c, g, now := s.stream.counts()
		if c != come || g != gone {
			return false, fmt.Errorf("it saw %d come and %d go, want %d and %d", c, g, come, gone)
		}
		written, err := s.readyEndpoints(ctx, "web")
		if err != nil {
			return false, err
		}
		return slices.Equal(now, written), fmt.Errorf("it knows %v, but the EndpointSlices have %v", now, written)
	})
}

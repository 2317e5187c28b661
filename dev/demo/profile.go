package main

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"
)

//go:embed profile.yaml
var shopProfile []byte

// profile shows how the watching client of a profile hears of a ServiceProfile.
func (s *stage) profile(ctx context.Context) error {
	say("Watching the other half, how to treat the traffic: signpost profile %s --watch", authority)
	if _, err := s.start(s.profileWatched, "bin/signpost", "profile", authority, "--addr", s.grpc, "--watch"); err != nil {
		return err
	}
	if err := s.heard(ctx, "first profile", "retry budget"); err != nil {
		return err
	}
	say("kubectl apply -f dev/demo/profile.yaml: a ServiceProfile with two routes")
	if err := s.manifests.ApplyAll(ctx, bytes.NewReader(shopProfile), "shop"); err != nil {
		return err
	}
	return s.heard(ctx, "+ route GET /cart", "+ route POST /checkout", "    POST /checkout ")
}

// profileWatched shows and keeps a line of the client that watches the profile.
func (s *stage) profileWatched(line string) {
	if line == "" {
		return
	}
	fmt.Println("  " + line)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.profileLines = append(s.profileLines, line)
}

// heard waits until the client that watches the profile has printed these words. The last
// line of what it prints at a time should be among them, so that the story goes on after it.
func (s *stage) heard(ctx context.Context, words ...string) error {
	return waitFor(ctx, "the watching client to hear of it", time.Minute, func() (bool, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, w := range words {
			if !slices.ContainsFunc(s.profileLines, func(line string) bool { return strings.Contains(line, w) }) {
				return false, fmt.Errorf("it did not print %q", w)
			}
		}
		return true, nil
	})
}

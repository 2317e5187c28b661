package main

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"time"
)

//go:embed profile.yaml
var shopProfile []byte

// profiles shows how the watching client of a profile hears of a ServiceProfile.
func (s *environment) profiles(ctx context.Context) error {
	say("Watching the other half, how to treat the traffic: signpost profile %s --watch", authority)
	if err := s.start(s.profile.print, "bin/signpost", "profile", authority, "--addr", s.grpc, "--watch"); err != nil {
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

// heard waits until the client that watches the profile has printed these words. The last
// line of what it prints at a time should be among them, so that the story goes on after it.
func (s *environment) heard(ctx context.Context, words ...string) error {
	return s.waitFor(ctx, "the watching client to hear of it", time.Minute, func() (bool, error) {
		for _, w := range words {
			if !s.profile.has(w) {
				return false, fmt.Errorf("it did not print %q", w)
			}
		}
		return true, nil
	})
}

package publisher

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/testkit/inmemorytest"
)

// slowServers is a provider whose servers return a change a minute after it was accepted.
type slowServers struct {
	*inmemorytest.Provider
	err error
}

func (s *slowServers) Confirm(ctx context.Context, _ dns.Zone) error {
	wait(ctx, time.Minute)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return s.err
}

// A record is reported as published when all servers return it. The next change of the zone doesn't
// wait.
func TestConfirm(t *testing.T) {
	ready := func(w *fixture) int { return strings.Count(strings.Join(w.takeNotices(), "\n"), ReasonReady) }
	for name, fails := range map[string]error{"all is well": nil, "it can't be asked": errors.New("not allowed")} {
		t.Run(name, func(t *testing.T) {
			withFixture(t, func(t *testing.T, w *fixture) {
				w.provider = &slowServers{w.zones, fails}
				w.start()
				waitIdle()
				w.objects.set("a", record(t, "a", "a."+zoneName, "A", "192.0.2.1"))
				waitIdle()
				w.objects.set("b", record(t, "b", "b."+zoneName, "A", "192.0.2.1"))
				waitIdle()
				w.expectZone("a."+zoneName+" A 192.0.2.1", "b."+zoneName+" A 192.0.2.1")
				if n := ready(w); n != 0 {
					t.Errorf("%d records are said to be published at once", n)
				}
				time.Sleep(time.Minute)
				if n := ready(w); n != 1 {
					t.Errorf("%d records are said to be published after a minute, want 1", n)
				}
				time.Sleep(time.Minute)
				if n := ready(w); n != 1 {
					t.Errorf("%d more after another minute, want 1", n)
				}
				// A process that ends reports the accepted changes.
				w.objects.set("c", record(t, "c", "c."+zoneName, "A", "192.0.2.1"))
				waitIdle()
				w.stop()
				if n := ready(w); n != 1 {
					t.Errorf("%d at the end, want 1", n)
				}
			})
		})
	}
}

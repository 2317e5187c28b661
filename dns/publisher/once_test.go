package publisher

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/signpostd/signpost/testkit/inmemorytest"
)

// onceLimit is how long the tests let a run take that is to end.
const onceLimit = time.Minute

// If a provider never responds, `signpost plan` and `--once` end at their limit and say what is
// unfinished (O4).
func TestOnceWithASilentProvider(t *testing.T) {
	for _, test := range []struct {
		name, want string
		silent     inmemorytest.Operation
	}{
		{"zones", "list the zones: the provider has not answered within 1m0s", inmemorytest.Zones},
		{"records", "list zone shop.test: the provider has not answered within 1m0s", inmemorytest.Records},
		{"changes", "write zone shop.test: the provider has not taken all changes within 1m0s", inmemorytest.Apply},
	} {
		t.Run(test.name, func(t *testing.T) {
			withFixture(t, func(t *testing.T, w *fixture) {
				w.objects.set("a", record(t, "a", "a.shop.test", "A", "192.0.2.1"))
				w.zones.SetHooks(inmemorytest.Hooks{Before: func(ctx context.Context, c inmemorytest.Call) error {
					if c.Operation == test.silent {
						<-ctx.Done()
						return ctx.Err()
					}
					return nil
				}})
				begun := time.Now()
				plans, err := w.make().Once(t.Context(), closedChannel(), Within(onceLimit))
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("the run ends with %v, want %q", err, test.want)
				}
				for _, p := range plans {
					if p.Done {
						t.Errorf("zone %s is said to be done", p.Zone.Name)
					}
				}
				if took := time.Since(begun); took != onceLimit {
					t.Errorf("it took %s, want %s", took, onceLimit)
				}
			})
		})
	}
}

// Once ends as soon as no further source will be read, without idling (W14).
func TestOnceEndsWhenSourcesAreSettled(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		w.objects.set("a", record(t, "a", "a.shop.test", "A", "192.0.2.1"))
		settled := make(chan struct{})
		begun := time.Now()
		const reading = 3100 * time.Millisecond
		time.AfterFunc(reading, func() { close(settled) })
		if _, err := w.make().Once(t.Context(), settled, Within(onceLimit)); err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took != reading {
			t.Errorf("it took %s, want %s", took, reading)
		}
		w.expectZone("a.shop.test A 192.0.2.1")
	})
}

// An interrupted Once returns the error of its context, and no zone that is done.
func TestOnceInterrupted(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		ctx, cancel := context.WithCancel(t.Context())
		w.zones.SetHooks(inmemorytest.Hooks{Before: func(ctx context.Context, _ inmemorytest.Call) error {
			cancel()
			<-ctx.Done()
			return ctx.Err()
		}})
		if _, err := w.make().Once(ctx, closedChannel(), Within(onceLimit)); !errors.Is(err, context.Canceled) {
			t.Errorf("the run ends with %v", err)
		}
	})
}

func closedChannel() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

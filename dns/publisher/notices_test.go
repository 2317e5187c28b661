package publisher

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/logtest"
)

// A standby sends no notices. When it takes over, it sends those of the problems that still exist, also if
// it has met one several times (B1).
func TestStandbySendsNoNotices(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		w.standby = true
		w.objects.set("bad", invalid(t, "bad", "a.shop.test", "192.0.2.300"))
		w.objects.set("mended", invalid(t, "mended", "b.shop.test", "192.0.2.300"))
		w.objects.fail("broken", errors.New("no address"))
		w.start()
		waitIdle()
		w.objects.set("mended", record(t, "mended", "b.shop.test", "A", "192.0.2.1"))
		w.objects.fail("broken", errors.New("no address"))
		waitIdle()
		w.expectQuiet()
		w.lead()
		waitIdle()
		var invalid []string
		for _, line := range w.takeNotices() {
			if strings.HasPrefix(line, ReasonInvalid) {
				invalid = append(invalid, line)
			}
		}
		want := []string{
			`RecordInvalid FailedSync  target of the A record set a.shop.test is "192.0.2.300": not an IPv4 address, as an A record has`,
			`RecordInvalid FailedSync  no address; its records stay unchanged`,
		}
		if diff := cmp.Diff(want, invalid); diff != "" {
			t.Errorf("the new leader says (-want +got):\n%s", diff)
		}
	})
}

// judging gives a fixture a provider that judges each change by itself, and makes those that judge
// has no error for. judge gets the number of the call of Apply, from 1 on.
func (w *fixture) judging(judge func(call int, z dns.Zone, c dns.Change) error) (calls *atomic.Int32) {
	calls = new(atomic.Int32)
	w.provider = &altered{Provider: w.zones, apply: func(ctx context.Context, z dns.Zone, changes []dns.Change) error {
		call := int(calls.Add(1))
		errs := make([]error, len(changes))
		var made []dns.Change
		for i, c := range changes {
			if errs[i] = judge(call, z, c); errs[i] == nil {
				made = append(made, c)
			}
		}
		if err := w.zones.Apply(ctx, z, made); err != nil || len(made) == len(changes) {
			return err
		}
		return &provider.ApplyError{Errs: errs}
	}}
	return calls
}

// TestOneChangeOfANameFails shows that an object whose record set was created is told so, although another
// object's record set of the same name failed, or has to be sent again.
func TestOneChangeOfANameFails(t *testing.T) {
	for name, test := range map[string]struct {
		failed int // the first calls, which fail
		err    error
		zone   []string
		bad    []string
	}{
		"rejected":  {math.MaxInt, provider.ErrRejected, []string{"a.shop.test A 192.0.2.1"}, []string{ReasonError}},
		"throttled": {1, &provider.ThrottledError{}, []string{"a.shop.test A 192.0.2.1"}, []string{ReasonReady}},
		"not tried": {1, provider.ErrNotTried, []string{"a.shop.test A 192.0.2.1", "a.shop.test AAAA 2001:db8::1"}, []string{ReasonReady}},
	} {
		t.Run(name, func(t *testing.T) {
			withFixture(t, func(t *testing.T, w *fixture) {
				w.judging(func(call int, _ dns.Zone, c dns.Change) error {
					if call <= test.failed && c.RecordSet().Type == "AAAA" {
						return test.err
					}
					return nil
				})
				w.objects.set("good", record(t, "good", "a.shop.test", "A", "192.0.2.1"))
				w.objects.set("bad", record(t, "bad", "a.shop.test", "AAAA", "2001:db8::1"))
				w.start()
				waitIdle()
				w.expectZone(test.zone...)
				time.Sleep(DefaultInterval)
				got := map[string][]string{}
				w.mu.Lock()
				defer w.mu.Unlock()
				for _, n := range w.notices {
					for _, o := range n.Objects {
						got[o.Name] = append(got[o.Name], n.Reason)
					}
				}
				if diff := cmp.Diff(map[string][]string{"good": {ReasonReady}, "bad": test.bad}, got); diff != "" {
					t.Errorf("reasons of the notices of each object (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestNotTried shows that a name which the provider has not tried, because it has refused others, is sent
// again at once, and isn't reported as failed.
func TestNotTried(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		sent := w.judging(func(call int, _ dns.Zone, c dns.Change) error {
			switch {
			case c.Subject() == "bad.shop.test":
				return provider.ErrRejected
			case call == 1:
				return provider.ErrNotTried
			}
			return nil
		})
		w.objects.set("a", record(t, "a", "bad.shop.test", "A", "192.0.2.1"))
		w.objects.set("b", record(t, "b", "good.shop.test", "A", "192.0.2.2"))
		began := time.Now()
		w.start()
		synctest.Wait()
		if took, calls := time.Since(began), sent.Load(); took > 0 || calls != 2 {
			t.Errorf("after %v, %d batches were sent", took, calls)
		}
		w.expectZone("good.shop.test A 192.0.2.2")
	})
}

// At level debug, the log has each listing, plan and batch with its numbers (S4).
func TestDebugLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &logtest.Buffer{}
		expectLog := func(texts ...string) {
			t.Helper()
			got := log.Take()
			for _, text := range texts {
				if !strings.Contains(got, text) {
					t.Errorf("the log has no %s:\n%s", text, got)
				}
			}
		}
		w := newFixture(t)
		w.judging(func(_ int, _ dns.Zone, c dns.Change) error {
			if c.RecordSet().Name == "c.shop.test" {
				return errors.New("not today")
			}
			return nil
		})
		w.change = func(c *Config) {
			c.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		}
		w.objects.set("a", record(t, "a", "a.shop.test", "A", "192.0.2.1"), record(t, "a", "b.shop.test", "A", "192.0.2.2"))
		w.start()
		defer w.stop()
		waitIdle()
		expectLog(`Zone is listed" zone=shop.test records=0`,
			`Names are planned" zone=shop.test names=2 toChange=2 held=0 waiting=0 done=0 toAsk=0`,
			`Batch is applied" zone=shop.test created=4 updated=0 deleted=0`)
		w.objects.set("a", record(t, "a", "a.shop.test", "A", "192.0.2.3"), record(t, "a", "c.shop.test", "A", "192.0.2.4"))
		waitIdle()
		expectLog(`Names are planned" zone=shop.test names=3 toChange=3 held=0 waiting=0 done=0 toAsk=0`,
			`Batch is applied" zone=shop.test created=2 updated=1 deleted=2`, "failed=1 err=")
	})
}

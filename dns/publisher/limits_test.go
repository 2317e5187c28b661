package publisher

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/inmemorytest"
)

// called records the calls of a provider.
type called struct {
	mu      sync.Mutex
	now     map[inmemorytest.Operation]int
	highest map[inmemorytest.Operation]int
	at      map[inmemorytest.Operation][]time.Time
	// sizes are the numbers of changes.
	sizes []int
	// fail may return an error for a call.
	fail func(inmemorytest.Call) error
}

func (c *called) hooks(takes time.Duration) inmemorytest.Hooks {
	c.now, c.highest, c.at = map[inmemorytest.Operation]int{}, map[inmemorytest.Operation]int{}, map[inmemorytest.Operation][]time.Time{}
	return inmemorytest.Hooks{
		Before: func(ctx context.Context, call inmemorytest.Call) error {
			c.mu.Lock()
			c.now[call.Operation]++
			c.highest[call.Operation] = max(c.highest[call.Operation], c.now[call.Operation])
			c.at[call.Operation] = append(c.at[call.Operation], time.Now())
			if call.Operation == inmemorytest.Apply {
				c.sizes = append(c.sizes, len(call.Changes))
			}
			fail := c.fail
			c.mu.Unlock()
			wait(ctx, takes)
			var err error
			if fail != nil {
				err = fail(call)
			}
			if err != nil {
				c.end(call)
			}
			return err
		},
		After: func(_ context.Context, call inmemorytest.Call, err error) error {
			c.end(call)
			return err
		},
	}
}

func (c *called) end(call inmemorytest.Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now[call.Operation]--
}

// batches returns the numbers of changes of the calls of Apply.
func (c *called) batches() []int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.sizes)
}

func (c *called) times(o inmemorytest.Operation) []time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.at[o])
}

// A throttled write is repeated unchanged after the time that the provider asks for, without a
// listing (D17).
func TestThrottled(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		var c called
		w.zones.SetHooks(c.hooks(0))
		w.start()
		waitIdle()
		before, begun := len(c.times(inmemorytest.Records)), time.Now()
		c.mu.Lock()
		c.fail = func(call inmemorytest.Call) error {
			if time.Since(begun) < 30*time.Second {
				return &provider.ThrottledError{After: 7 * time.Second}
			}
			return nil
		}
		c.mu.Unlock()
		// They are those of one object, so that they are planned together.
		var many []*dns.RecordSet
		for i := range 64 {
			many = append(many, record(t, "many", fmt.Sprintf("o%d.%s", i, zoneName), "A", "192.0.2.1"))
		}
		w.objects.set("many", many...)
		time.Sleep(40 * time.Second)
		w.expectSets(64)
		if n := len(c.times(inmemorytest.Records)) - before - 1; n != 0 { // one is that of w.zone
			t.Errorf("%d listings, want none", n)
		}
		if sizes := c.batches(); !slices.Equal(sizes, []int{128, 128, 128, 128, 128, 128}) {
			t.Errorf("batches of %v changes, want 6 of 128", sizes)
		}
		at := c.times(inmemorytest.Apply)
		for i := 1; i < len(at); i++ {
			if pause := at[i].Sub(at[i-1]); pause < 7*time.Second || pause > 8*time.Second {
				t.Errorf("call %d came after %v", i, pause)
			}
		}
		if notices := w.takeNotices(); len(notices) != 64 {
			t.Errorf("notices %q", notices)
		}
	})
}

// While the provider throttles requests for a minute or longer, the reason is shown: as a trouble, and
// in the rows of the records that wait, also those of other zones.
func TestThrottleIsShown(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		w.start()
		waitIdle()
		begun := time.Now()
		w.zones.SetHooks(inmemorytest.Hooks{Before: func(_ context.Context, call inmemorytest.Call) error {
			if call.Operation == inmemorytest.Apply && time.Since(begun) < time.Minute {
				return &provider.ThrottledError{After: 365 * 24 * time.Hour, Err: errors.New("come back next year")}
			}
			return nil
		}})
		w.objects.set("web", record(t, "web", "web."+zoneName, "A", "192.0.2.1"))
		waitIdle()
		until := begun.Add(time.Hour)
		troubles := w.publisher.Troubles()
		if len(troubles) != 1 || troubles[0].Field != "provider" || !strings.Contains(troubles[0].Reason, "come back next year") || !strings.Contains(troubles[0].Reason, until.UTC().Format("T15:04")) {
			t.Errorf("troubles %v", troubles)
		}
		if got := testutil.ToFloat64(w.publisher.Metrics.throttledUntil); math.Abs(got-float64(until.Unix())) > 60 {
			t.Errorf("the metric has the end %v, want %v", got, until.Unix())
		}
		page, err := w.publisher.Rows(t.Context(), RowFilter{States: []RowState{RowPending}}, 0, 10)
		if err != nil || len(page.Rows) != 1 || page.Rows[0].Message != "the provider throttles requests" || page.Rows[0].Next.Sub(until).Abs() > time.Minute {
			t.Errorf("rows %v, error %v", page.Rows, err)
		}
		time.Sleep(time.Hour + time.Second)
		w.expectSets(1)
		if troubles := w.publisher.Troubles(); len(troubles) > 0 {
			t.Errorf("afterwards, the troubles are %v", troubles)
		}
	})
}

// A throttled change of an ApplyError and a throttled listing wait too. If the provider gives no
// time, the delay grows each time.
func TestThrottledInPart(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		var c called
		w.zones.SetHooks(c.hooks(0))
		begun := time.Now()
		c.fail = func(call inmemorytest.Call) error {
			switch {
			case time.Since(begun) > 10*time.Second:
				return nil
			case call.Operation == inmemorytest.Records:
				return provider.ErrThrottled
			}
			return nil
		}
		w.objects.set("web", record(t, "web", "www."+zoneName, "A", "192.0.2.1"))
		w.start()
		time.Sleep(20 * time.Second)
		if n := len(c.times(inmemorytest.Records)); n != 5 { // after 0, 1, 3, 7 and 15 s
			t.Errorf("%d listings: %v", n, c.times(inmemorytest.Records))
		}
		w.expectZone("www.shop.test A 192.0.2.1")
		w.takeNotices()
		throttled := errors.Join(provider.ErrThrottled)
		c.mu.Lock()
		c.fail = func(call inmemorytest.Call) error {
			if call.Operation == inmemorytest.Apply {
				c.mu.Lock()
				c.fail = nil
				c.mu.Unlock()
				return &provider.ApplyError{Errs: slices.Repeat([]error{throttled}, len(call.Changes))}
			}
			return nil
		}
		c.mu.Unlock()
		w.objects.set("web", record(t, "web", "www."+zoneName, "A", "192.0.2.2"))
		time.Sleep(5 * time.Second)
		w.expectZone("www.shop.test A 192.0.2.2")
		if notices := w.takeNotices(); len(notices) != 1 {
			t.Errorf("notices %q", notices)
		}
	})
}

// The listings of many zones are spread over the interval (D18).
func TestManyZones(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		for i := range 300 {
			w.createZone(fmt.Sprintf("z%d.test", i))
		}
		var c called
		w.zones.SetHooks(c.hooks(10 * time.Millisecond))
		w.start()
		time.Sleep(6 * time.Minute)
		at := c.times(inmemorytest.Records)
		c.mu.Lock()
		highest := c.highest[inmemorytest.Records]
		c.mu.Unlock()
		if highest > defaultCalls {
			t.Errorf("%d listings at a time, want at most %d", highest, defaultCalls)
		}
		if n := len(at); n < 301*6 || n > 301*8 {
			t.Errorf("%d listings in 6 minutes of 301 zones", n)
		}
		// 301 in a minute are 5 per second if they are spread.
		perSecond := map[int64]int{}
		for _, t := range at {
			if age := t.Sub(at[0]); age > 3*time.Minute {
				perSecond[int64(age/time.Second)]++
			}
		}
		for second, n := range perSecond {
			if n > 30 {
				t.Errorf("%d listings in second %d", n, second)
			}
		}
	})
}

// Zones whose calls hang until their timeout use half of the permitted calls at most, so that the others
// are published at once.
func TestHangingZones(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		for i := range 4 * defaultCalls {
			w.createZone(fmt.Sprintf("z%d.test", i))
		}
		w.zones.SetHooks(inmemorytest.Hooks{Before: func(ctx context.Context, call inmemorytest.Call) error {
			if call.Zone.Name == zoneName || call.Operation == inmemorytest.Zones {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		}})
		w.start()
		// Each zone fails once.
		time.Sleep(8 * listTimeout)
		for i := range 20 {
			w.objects.set("web", record(t, "web", "web."+zoneName, "A", fmt.Sprintf("192.0.2.%d", i)))
			time.Sleep(2 * time.Second)
			if got := w.zones.Get(dns.Key{Name: "web." + zoneName, Type: dns.TypeA}); got == nil || got.Targets[0] != fmt.Sprintf("192.0.2.%d", i) {
				t.Fatalf("change %d after 2 s: %v", i, got)
			}
			time.Sleep(37 * time.Second)
		}
	})
}

// --batch-change-size, --batch-change-interval and --zones-cache-duration have effect (D16).
func TestLimitsOfTheUser(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		w.change = func(c *Config) {
			c.Limits = Limits{BatchSize: 20, BatchInterval: 3 * time.Second, ZonesCache: 5 * time.Minute}
		}
		var c called
		w.zones.SetHooks(c.hooks(0))
		w.ask(0, 30, "192.0.2.1")
		w.start()
		time.Sleep(11 * time.Minute)
		// The sizes count records and ownership records.
		if sizes := c.batches(); !slices.Equal(sizes, []int{20, 20, 20}) {
			t.Errorf("batches of %v changes", sizes)
		}
		at := c.times(inmemorytest.Apply)
		for i := 1; i < len(at); i++ {
			if pause := at[i].Sub(at[i-1]); pause != 3*time.Second {
				t.Errorf("batch %d came after %v", i, pause)
			}
		}
		if n := len(c.times(inmemorytest.Zones)); n != 3 {
			t.Errorf("the zones were listed %d times in 11 minutes, want 3", n)
		}
	})
}

// Of the limits of the provider and those of the user, the stricter one counts. A provider says
// how long a batch may take.
func TestLimitsOfTheProvider(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		w.provider = &altered{Provider: w.zones, capabilities: func(c *provider.Capabilities) {
			c.BatchSize, c.BatchInterval, c.BatchTime, c.Calls = 5, time.Second, time.Hour, 1
		}}
		w.change = func(c *Config) { c.Limits = Limits{BatchSize: 20, BatchInterval: 3 * time.Second} }
		p := w.make()
		if p.batchSize != 2 || p.batchInterval != 3*time.Second || p.maxConcurrentCalls != 1 {
			t.Errorf("limits: %d, %v, %d", p.batchSize, p.batchInterval, p.maxConcurrentCalls)
		}
		var left atomic.Int64
		w.zones.SetHooks(inmemorytest.Hooks{Before: func(ctx context.Context, c inmemorytest.Call) error {
			if deadline, ok := ctx.Deadline(); ok && c.Operation == inmemorytest.Apply {
				left.Store(int64(time.Until(deadline)))
			}
			return nil
		}})
		w.objects.set("web", record(t, "web", "www."+zoneName, "A", "192.0.2.1"))
		w.start()
		waitIdle()
		if left := time.Duration(left.Load()); left != time.Hour {
			t.Errorf("a batch may take %v", left)
		}
	})
}

// perSecond returns how many calls of any kind began in each second.
func (c *called) perSecond() map[int64]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := map[int64]int{}
	for _, times := range c.at {
		for _, at := range times {
			found[at.Unix()]++
		}
	}
	return found
}

// The calls per second stay within the limits of the provider and the user, however many zones
// there are. Records aren't published later because of that (D18).
func TestCallsPerSecond(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		for i := range 199 {
			w.createZone(fmt.Sprintf("z%d.test", i))
		}
		w.provider = &altered{Provider: w.zones, capabilities: func(c *provider.Capabilities) { c.CallsPerSecond = 20 }}
		w.change = func(c *Config) { c.Limits = Limits{CallsPerSecond: 5} }
		var c called
		w.zones.SetHooks(c.hooks(10 * time.Millisecond))
		w.start()
		time.Sleep(time.Minute) // listing all zones once takes 40 s
		for i := range 20 {
			w.ask(i, i+1, "192.0.2.1")
			time.Sleep(time.Second)
			synctest.Wait()
			w.expectPublished(fmt.Sprint("n", i))
		}
		// The first seconds may have more, because nothing was used before.
		seconds := 0
		for _, n := range c.perSecond() {
			if n > 10 {
				t.Errorf("%d calls in a second", n)
			}
			seconds++
		}
		if n := len(c.times(inmemorytest.Records)); n > 5*(seconds+2) || n < 4*seconds {
			t.Errorf("%d listings in %d seconds", n, seconds)
		}
	})
}

// BenchmarkIdleHour counts what a provider is called while nothing changes.
func BenchmarkIdleHour(b *testing.B) {
	for _, zones := range []int{1, 100, 1000} {
		for _, limit := range []float64{0, 5} {
			b.Run(fmt.Sprintf("zones=%d/limit=%v", zones, limit), func(b *testing.B) {
				for b.Loop() {
					total, highest := idleHour(b, zones, limit)
					b.ReportMetric(float64(total), "calls/hour")
					b.ReportMetric(float64(highest), "most/s")
				}
			})
		}
	}
}

// idleHour returns the number of calls in an hour without changes, and the maximum in one second.
// With a limit, each second may have that many, and once the same number in addition as a burst.
func idleHour(b *testing.B, zones int, limit float64) (total, highest int) {
	// A bubble needs a test.
	ok := testing.RunTests(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "hour", F: func(t *testing.T) {
		withFixture(t, func(t *testing.T, w *fixture) {
			for i := range zones - 1 {
				w.createZone(fmt.Sprintf("z%d.test", i))
			}
			w.change = func(c *Config) { c.Limits = Limits{CallsPerSecond: limit} }
			w.start()
			time.Sleep(time.Hour)
			var c called
			w.zones.SetHooks(c.hooks(10 * time.Millisecond))
			time.Sleep(time.Hour)
			for _, n := range c.perSecond() {
				total, highest = total+n, max(highest, n)
			}
		})
	}}})
	if !ok {
		b.Fatal("the hour failed")
	}
	return total, highest
}

// A name with too many wanted record sets keeps those that it has, and gets the first ones of the
// others. The objects of the rest are notified. Other names don't wait.
func TestTooManyRecordSetsOfAName(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		of := func(first, count int) (sets []*dns.RecordSet) {
			for i := range count {
				r := record(t, "many", "many."+zoneName, "A", "192.0.2.1")
				r.SetIdentifier = fmt.Sprintf("id-%05d", first+i)
				sets = append(sets, r)
			}
			return sets
		}
		w.objects.set("many", of(10_000, 10)...)
		w.start()
		waitIdle()
		w.objects.set("many", append(of(0, 1_000), of(10_000, 2_000)...)...)
		w.objects.set("other", record(t, "other", "other."+zoneName, "A", "192.0.2.2"))
		time.Sleep(2 * DefaultInterval)
		identifiers := map[string]bool{}
		other := false
		for _, r := range w.listing() {
			if r.Type == "A" {
				identifiers[r.SetIdentifier] = true
				other = other || r.Name == "other."+zoneName
			}
		}
		if len(identifiers) != maxRecordSets+1 || !identifiers["id-10000"] || !identifiers["id-10009"] || !identifiers["id-00000"] || identifiers["id-10010"] || !other {
			t.Errorf("%d identifiers are published: those of before %t, %t, the first %t; the other name: %t", len(identifiers), identifiers["id-10000"], identifiers["id-10009"], identifiers["id-00000"], other)
		}
		w.expectNotices(map[string]int{"objects ask for 3000 record sets of the name, and more than 500 are ignored": some})
		page, err := w.publisher.Rows(t.Context(), RowFilter{}, 0, 10)
		if err != nil || page.Total != maxRecordSets+maxLost+1 {
			t.Errorf("%d rows, %v", page.Total, err)
		}
	})
}

package publishertest

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/budget"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/publisher"
	"github.com/signpostd/signpost/dns/source"
)

// Options configure [Measure].
type Options struct {
	// Provider must be open, and send its requests through the Counter.
	Provider provider.Provider
	Counter  *Counter
	// Zones must be empty. Each gets a number of Names with an A record and its ownership record.
	Zones []string
	Names int
	// Target returns the target of a name, different for each version.
	Target func(version int) string
}

// Figures are the results of [Measure].
type Figures struct {
	// First are the requests of the first publication, by operation, Idle those of an hour without changes,
	// and Singles those of 100 changes, one every seven seconds.
	First, Idle, Singles map[string]int
	// FirstTook is how long the first publication took.
	FirstTook time.Duration
	// Waits are the times from each change to its request, the shortest first.
	Waits []time.Duration
}

// Total returns the sum of requests.
func Total(calls map[string]int) int {
	sum := 0
	for _, n := range calls {
		sum += n
	}
	return sum
}

// String returns all figures in a few lines.
func (f Figures) String() string {
	return fmt.Sprintf("first publication: %d requests in %v %v\nan idle hour: %d requests %v\n100 changes: %d requests %v\nfrom a change to its request: p50 %v, p99 %v, most %v",
		Total(f.First), f.FirstTook, f.First, Total(f.Idle), f.Idle, Total(f.Singles), f.Singles, f.Waits[len(f.Waits)/2], f.Percentile99(), f.Waits[len(f.Waits)-1])
}

// Percentile99 returns the time that one in a hundred changes exceeded.
func (f Figures) Percentile99() time.Duration { return f.Waits[len(f.Waits)*99/100-1] }

// interval is ExternalDNS' default.
const interval = time.Minute

// unlimited is a budget without limits.
var unlimited = budget.Limits{Deletions: budget.Limit{Percent: 100}, SettingsUpdates: budget.Limit{Percent: 100}, ObjectUpdates: budget.Limit{Percent: 100}, Window: interval}

// Measure publishes everything, waits for an hour, and makes 100 changes. It must be called in a bubble.
func Measure(t *testing.T, o Options) Figures {
	t.Helper()
	m := &measuring{Options: o, t: t, records: map[source.Key]*dns.RecordSet{}}
	for _, zone := range o.Zones {
		for i := range o.Names {
			m.ask(zone, i, 0)
		}
	}
	begun := time.Now()
	stop := m.start()
	defer stop()
	m.settle()
	f := Figures{FirstTook: o.Counter.lastWrite().Sub(begun), First: o.Counter.take()}
	// The first listings of zones after a start are spread.
	time.Sleep(time.Hour)
	o.Counter.take()
	time.Sleep(time.Hour)
	f.Idle = o.Counter.take()
	for i := range 100 {
		changed := time.Now()
		m.changed(m.ask(o.Zones[i%len(o.Zones)], i%o.Names, i+1))
		time.Sleep(7 * time.Second)
		f.Waits = append(f.Waits, o.Counter.lastWrite().Sub(changed))
	}
	slices.Sort(f.Waits)
	f.Singles = o.Counter.take()
	if f.Waits[0] < 0 {
		t.Errorf("a change wasn't sent within 7 s")
	}
	return f
}

// Cheap measures, and checks that the requests of an idle hour are a tenth of those of ExternalDNS
// at most, and that a change is sent within 250 ms. ExternalDNS lists so many zones once a minute
// and reads each of them (spec/clouds.md §0.7).
func Cheap(t *testing.T, o Options, zones int) {
	t.Helper()
	f := Measure(t, o)
	t.Log(f)
	externalDNS := 60 * (1 + zones)
	if idle := Total(f.Idle); idle*10 > externalDNS {
		t.Errorf("%d requests in an idle hour, want at most a tenth of the %d of ExternalDNS", idle, externalDNS)
	}
	if f.Percentile99() > 250*time.Millisecond {
		t.Errorf("p99 from a change to its request: %v, want at most 250 ms", f.Percentile99())
	}
}

// measuring is a publisher that is measured.
type measuring struct {
	Options
	t       *testing.T
	changed func(source.Key)

	mu      sync.Mutex
	records map[source.Key]*dns.RecordSet
	failed  []string
}

// ask makes an object want a version of a name.
func (m *measuring) ask(zone string, number, version int) source.Key {
	name := fmt.Sprintf("www%d.%s", number, zone)
	object := "web-" + name
	key := source.Key{Namespace: "default", Name: object}
	r := Set(name, dns.TypeA, m.Target(version), "ttl=300")
	r.Labels[dns.LabelResource], r.Objects[0].Name = "service/default/"+object, object
	m.mu.Lock()
	defer m.mu.Unlock()
	m.records[key] = r
	return key
}

func (m *measuring) evaluate(key source.Key) source.Result {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.records[key]; r != nil {
		return source.Result{Records: []*dns.RecordSet{r}}
	}
	return source.Result{}
}

func (m *measuring) start() (stop func()) {
	m.t.Helper()
	w := NewFixture(m.t)
	w.Log = slog.New(slog.DiscardHandler)
	w.Configure = func(c *publisher.Config) {
		c.Sources = []publisher.NamedSource{{Name: "service", Source: source.Source{Evaluate: m.evaluate}}}
		c.Limits, c.Interval, c.Notify = publisher.Limits{}, interval, m.notice
	}
	p := w.Publisher(m.Provider)
	m.changed = publisher.Changed(func() *publisher.Publisher { return p }, 0)
	for key := range maps.Clone(m.records) {
		m.changed(key)
	}
	end := start(m.t, p)
	return func() {
		end()
		for _, message := range m.failed {
			m.t.Errorf("said: %s", message)
		}
	}
}

func (m *measuring) notice(n publisher.Notice) {
	if n.Action != publisher.ActionFailed {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.failed) < 3 {
		m.failed = append(m.failed, n.Message)
	}
}

// settle waits until nothing was written for some intervals.
func (m *measuring) settle() {
	for {
		time.Sleep(3 * interval)
		synctest.Wait()
		if time.Since(m.Counter.lastWrite()) > 2*interval {
			return
		}
	}
}

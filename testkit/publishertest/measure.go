package publishertest

import (
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/budget"
	"github.com/signpostd/signpost/dns/publisher"
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/internal/handlertransport"
	"github.com/signpostd/signpost/testkit/longtest"
)

const (
	// interval is ExternalDNS' default.
	interval = time.Minute
	// costZones is the number of zones in CheckCost, and costNames that of names in each. Each name has an
	// ownership record.
	costZones = 50
	costNames = 100
	// singles is the number of single changes, with a pause between two.
	singles      = 100
	singlesPause = 7 * time.Second
)

// unlimited is a budget without limits.
var unlimited = budget.Limits{Deletions: budget.Limit{Percent: 100}, SettingsUpdates: budget.Limit{Percent: 100}, ObjectUpdates: budget.Limit{Percent: 100}, Window: interval}

// Total returns the sum of requests.
func Total(calls map[string]int) int {
	sum := 0
	for _, n := range calls {
		sum += n
	}
	return sum
}

// CheckCost publishes names in zones of which each is empty, waits for an hour, and makes single changes. The
// requests of an idle hour must be a tenth of those of ExternalDNS at most, and a change must be sent within
// 250 ms. ExternalDNS lists the zones once a minute and reads each of them (spec/clouds.md §0.7).
func (w *Fixture) CheckCost(addZone func(i int, name string)) {
	w.T.Helper()
	m := &measuring{Fixture: w, records: map[source.Key]*dns.RecordSet{}}
	names := longtest.CostlyRounds(costNames)
	for i := range costZones {
		addZone(i, zoneOf(i))
		for n := range names {
			m.ask(i, n, 0)
		}
	}
	begun := time.Now()
	stop := m.start()
	defer stop()
	m.settle()
	w.T.Logf("first publication in %v: %v", m.lastWrite().Sub(begun), w.Server.Operations())
	// The first listings of zones after a start are spread.
	time.Sleep(time.Hour)
	w.Server.Operations()
	time.Sleep(time.Hour)
	idle, externalDNS := w.Server.Operations(), 60*(1+costZones)
	w.T.Logf("an idle hour: %v", idle)
	if n := Total(idle); n*10 > externalDNS {
		w.T.Errorf("%d requests in an idle hour, want at most a tenth of the %d of ExternalDNS", n, externalDNS)
	}
	var waits []time.Duration
	for i := range singles {
		changed := time.Now()
		m.changed(m.ask(i%costZones, i%names, i+1))
		time.Sleep(singlesPause)
		waits = append(waits, m.lastWrite().Sub(changed))
	}
	slices.Sort(waits)
	w.T.Logf("%d changes: %v; from a change to its request: p50 %v, most %v", singles, w.Server.Operations(), waits[singles/2], waits[singles-1])
	if p99 := waits[singles*99/100-1]; waits[0] < 0 || p99 > 250*time.Millisecond {
		w.T.Errorf("p99 from a change to its request: %v, the shortest time %v, want at most 250 ms", p99, waits[0])
	}
}

func zoneOf(i int) string { return fmt.Sprintf("shop%d.test", i) }

// measuring is a publisher that is measured.
type measuring struct {
	*Fixture
	changed func(source.Key)

	mu      sync.Mutex
	records map[source.Key]*dns.RecordSet
	// written is when the last request was sent that may change records.
	written time.Time
}

// ask makes an object want a version of a name.
func (m *measuring) ask(zone, number, version int) source.Key {
	r := Set(fmt.Sprintf("www%d.%s", number, zoneOf(zone)), dns.TypeA, fmt.Sprintf("192.0.2.%d", version+1), "ttl=300")
	key := source.Key{Namespace: "default", Name: "web-" + r.Name}
	r.Labels[dns.LabelResource], r.Objects[0].Name = "service/default/"+key.Name, key.Name
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
	m.T.Helper()
	m.Wrap = m.noteWrites
	m.Configure = func(c *publisher.Config) {
		c.Sources = []publisher.NamedSource{{Name: "service", Source: source.Source{Evaluate: m.evaluate}}}
		c.Interval, c.Limits, c.Log = interval, publisher.Limits{}, slog.New(slog.DiscardHandler)
		c.Notify = func(n publisher.Notice) {
			if n.Action == publisher.ActionFailed {
				m.T.Errorf("said: %s", n.Message)
			}
		}
	}
	p := m.Publisher(m.open())
	m.changed = publisher.Changed(func() *publisher.Publisher { return p }, 0)
	for key := range m.records {
		m.changed(key)
	}
	return start(m.T, p)
}

// noteWrites notes the times of requests that may change records.
func (m *measuring) noteWrites(next http.RoundTripper) http.RoundTripper {
	return handlertransport.Func(func(r *http.Request) (*http.Response, error) {
		if r.Method != http.MethodGet && !strings.HasSuffix(r.URL.Path, "/token") {
			m.mu.Lock()
			m.written = time.Now()
			m.mu.Unlock()
		}
		return next.RoundTrip(r)
	})
}

func (m *measuring) lastWrite() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.written
}

// settle waits until nothing was written for some intervals.
func (m *measuring) settle() {
	for {
		time.Sleep(3 * interval)
		synctest.Wait()
		if time.Since(m.lastWrite()) > 2*interval {
			return
		}
	}
}

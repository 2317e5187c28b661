package google

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	dnsapi "google.golang.org/api/dns/v1"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/budget"
	"github.com/signpostd/signpost/dns/desired"
	"github.com/signpostd/signpost/dns/owner"
	"github.com/signpostd/signpost/dns/plan"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/publisher"
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/testkit/clouddnstest"
)

// zoneName is the name of the zone shop.
const (
	zoneName = "shop.test"
	shop     = "shop"
)

// world is a publisher that is run once and once again, over a server that knows what Cloud DNS
// knows. Its time is that of testing/synctest.
type world struct {
	// wrap, if it is not nil, wraps the transport of providers.
	wrap   func(http.RoundTripper) http.RoundTripper
	t      *testing.T
	server *clouddnstest.Server
	// arguments are flags of the provider.
	arguments []string
	domains   *dns.DomainFilter
	ids       []string
	policy    plan.Policy
	// affixes are those of the names of markers.
	prefix, suffix, wildcard string
	dryRun                   bool
	managed                  []string
	// provider is used for all runs, if it isn't nil. Otherwise each run opens its own, as a
	// new process does.
	provider provider.Provider
	wanted   []*dns.RecordSet
}

// inWorld runs a test in a world with a public zone, shop.
func inWorld(t *testing.T, test func(w *world)) {
	t.Helper()
	prepare(t)
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, server: clouddnstest.New(), domains: dns.NewDomainFilter(nil, nil), policy: plan.Sync, managed: plan.DefaultManaged()}
		w.server.AddZone(clouddnstest.Zone{Name: shop, DNSName: zoneName})
		test(w)
	})
}

// set returns a record set as an object asks for it. Properties are name=value.
func set(name, recordType, target string, properties ...string) *dns.RecordSet {
	r := &dns.RecordSet{
		Name: name, Type: recordType, Targets: strings.Split(target, ","),
		Labels:  map[string]string{dns.LabelResource: "service/default/web"},
		Objects: []dns.Object{{APIVersion: "v1", Kind: "Service", Namespace: "default", Name: "web", Source: "service"}},
	}
	for _, p := range properties {
		key, value, _ := strings.Cut(p, "=")
		switch key {
		case "id":
			r.SetIdentifier = value
		case "ttl":
			r.TTL, _ = dns.ParseTTL(value)
		default:
			r.SetProperty(key, value)
		}
	}
	return r
}

// open opens a provider over the server, with the settings of users.
func (w *world) open() provider.Provider {
	w.t.Helper()
	c := configure(w.t, w.arguments...)
	c.BatchInterval = time.Second
	in := input(w.server)
	in.Wrap = func(http.RoundTripper) http.RoundTripper {
		transport := recorder{w.server.Transport(), func(*http.Request) { time.Sleep(latency) }}
		if w.wrap != nil {
			return w.wrap(transport)
		}
		return transport
	}
	in.Domains, in.ZoneIDs, in.DryRun = w.domains, w.ids, w.dryRun
	in.Log = slog.New(slog.NewTextHandler(w.t.Output(), nil))
	p, err := c.Open(w.t.Context(), in)
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

// run publishes once, and returns how many requests of each operation there were.
func (w *world) run(wanted ...*dns.RecordSet) (requests map[string]int, err error) {
	w.t.Helper()
	w.wanted = wanted
	w.server.Calls()
	p := w.provider
	if p == nil {
		p = w.open()
	}
	want, err := desired.New(desired.Options{Sources: []string{"service"}, ManagedTypes: w.managed, Properties: p.Capabilities().Properties})
	if err != nil {
		w.t.Fatal(err)
	}
	rules := plan.Rules{Policy: w.policy, Owner: "me", Managed: w.managed}
	o, err := owner.NewTXT(owner.TXTOptions{OwnerID: "me", Prefix: w.prefix, Suffix: w.suffix, WildcardReplacement: w.wildcard, Managed: rules.Manages})
	if err != nil {
		w.t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(w.t.Output(), nil))
	all := budget.Limit{Percent: 100}
	pub, err := publisher.New(publisher.Config{
		Sources: []publisher.NamedSource{{Name: "service", Source: source.Source{Poll: func(context.Context) ([]*dns.RecordSet, error) { return slices.Clone(w.wanted), nil }}}},
		Desired: want, Owner: o, Provider: p, Rules: rules, Domains: w.domains, DryRun: w.dryRun, Log: log,
		Budget: budget.Limits{Deletions: all, SettingsUpdates: all, ObjectUpdates: all, Window: time.Minute},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	settled := make(chan struct{})
	close(settled)
	_, err = pub.Once(w.t.Context(), settled, time.Minute)
	requests = map[string]int{}
	for _, c := range w.server.Calls() {
		requests[c.Operation]++
	}
	return requests, err
}

// publish publishes once, and checks how many requests there were that write.
func (w *world) publish(want int, wanted ...*dns.RecordSet) {
	w.t.Helper()
	requests, err := w.run(wanted...)
	if err != nil || requests[clouddnstest.CreateChange] != want {
		w.t.Fatalf("%d requests to change records and error %v, want %d; %v", requests[clouddnstest.CreateChange], err, want, requests)
	}
}

// settle publishes, in some requests, and then once more, in none.
func (w *world) settle(want int, wanted ...*dns.RecordSet) {
	w.t.Helper()
	w.publish(want, wanted...)
	w.publish(0, wanted...)
}

// has returns what a zone has, without markers: "name TYPE values".
func (w *world) has(zone string) []string {
	var lines []string
	for _, r := range w.server.Sets(zone) {
		if !marker(r) {
			lines = append(lines, line(r))
		}
	}
	return lines
}

func marker(r clouddnstest.RecordSet) bool {
	return r.Type == "TXT" && strings.Contains(fmt.Sprint(r.Datas), "heritage=")
}

func line(r clouddnstest.RecordSet) string {
	return strings.TrimSpace(fmt.Sprint(strings.TrimSuffix(strings.TrimSuffix(r.Name, "."), "."+zoneName), " ", r.Type, " ", strings.Join(r.Datas, " "), string(r.Policy)))
}

// expect compares what the zone shop has.
func (w *world) expect(want ...string) {
	w.t.Helper()
	got := w.has(shop)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		w.t.Fatalf("the zone has\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// markers returns how many markers the zone shop has.
func (w *world) markers() int { return len(w.server.Sets(shop)) - len(w.has(shop)) }

// gone empties the zone, and checks that nothing is left.
func (w *world) gone() {
	w.t.Helper()
	w.publish(1)
	if left := w.server.Sets(shop); len(left) > 0 {
		w.t.Fatalf("still there: %v", left)
	}
}

// refuseIf has the server answer some requests with a fault, before they have an effect. It calls
// the function for one request at a time.
func (w *world) refuseIf(fault *clouddnstest.Fault, when func(clouddnstest.Call) bool) {
	var mu sync.Mutex
	w.server.SetHooks(clouddnstest.Hooks{Before: func(c clouddnstest.Call) *clouddnstest.Fault {
		mu.Lock()
		defer mu.Unlock()
		if when(c) {
			return fault
		}
		return nil
	}})
}

func total(requests map[string]int) int {
	n := 0
	for v := range maps.Values(requests) {
		n += v
	}
	return n
}

// latency is how long a request is on its way.
const latency = 20 * time.Millisecond

// recorder is a transport that is told of each request before it is sent.
type recorder struct {
	http.RoundTripper
	sent func(*http.Request)
}

func (r recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	r.sent(req)
	return r.RoundTripper.RoundTrip(req)
}

// rawOf returns a record set of the server as the SDK has it.
func rawOf(r *clouddnstest.RecordSet) *dnsapi.ResourceRecordSet {
	return &dnsapi.ResourceRecordSet{Name: r.Name, Type: r.Type, Ttl: r.TTL, Rrdatas: r.Datas}
}

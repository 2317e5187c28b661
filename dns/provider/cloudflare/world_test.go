package cloudflare

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/budget"
	"github.com/signpostd/signpost/dns/desired"
	"github.com/signpostd/signpost/dns/owner"
	"github.com/signpostd/signpost/dns/plan"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/publisher"
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/testkit/cloudflaretest"
)

const zoneName = "shop.test"

// world is a publisher that is run once and once again, over a server that knows what Cloudflare
// knows. Its time is that of testing/synctest, and its requests wait as those of users do.
type world struct {
	// wrap, if it is not nil, wraps the transport of providers.
	wrap   func(http.RoundTripper) http.RoundTripper
	t      *testing.T
	server *cloudflaretest.Server
	// zone is the ID of the zone.
	zone string
	// arguments are flags of the provider.
	arguments []string
	domains   *dns.DomainFilter
	ids       []string
	policy    plan.Policy
	prefix    string
	suffix    string
	owner     string
	dryRun    bool
	managed   []string
	// mu guards wanted, which is what objects ask for.
	mu     sync.Mutex
	wanted []*dns.RecordSet
	// provider is used for all runs, if it isn't nil. Otherwise each run opens its own, as a
	// new process does.
	provider provider.Provider
	// logger is where everything logs to, and log has that.
	log    strings.Builder
	logger *slog.Logger
}

// inWorld runs a test in a world with a zone of a plan.
func inWorld(t *testing.T, plan string, test func(w *world)) {
	t.Helper()
	environment(t, "https://api.test/client/v4")
	synctest.Test(t, func(t *testing.T) { test(newWorld(t, plan)) })
}

// newWorld returns a world in the bubble of a test.
func newWorld(t *testing.T, zonePlan string) *world {
	w := &world{t: t, server: cloudflaretest.New(), domains: dns.NewDomainFilter(nil, nil), policy: plan.Sync, managed: plan.DefaultManaged(), owner: "me"}
	w.logger = slog.New(slog.NewTextHandler(&w.log, nil))
	w.zone = w.server.AddZone(cloudflaretest.Zone{Name: zoneName, Plan: zonePlan})
	w.server.SetRate(1200)
	return w
}

// want returns a record set as an object asks for it. Properties are name=value, without the prefix of
// the provider.
func want(name, recordType, target string, properties ...string) *dns.RecordSet {
	r := &dns.RecordSet{
		Name: name, Type: recordType, Targets: strings.Split(target, ","),
		Labels:  map[string]string{dns.LabelResource: "service/default/web"},
		Objects: []dns.Object{{APIVersion: "v1", Kind: "Service", Namespace: "default", Name: "web", Source: "service"}},
	}
	for _, p := range properties {
		key, value, _ := strings.Cut(p, "=")
		if key == "ttl" {
			r.TTL, _ = dns.ParseTTL(value)
		} else {
			r.SetProperty(prefix+key, value)
		}
	}
	return r
}

// open opens a provider over the server.
func (w *world) open() provider.Provider {
	w.t.Helper()
	in := input()
	in.Domains, in.DryRun, in.ZoneIDs, in.Log = w.domains, w.dryRun, w.ids, w.logger
	in.Wrap = func(http.RoundTripper) http.RoundTripper {
		if w.wrap != nil {
			return w.wrap(slowly{w.server.Transport()})
		}
		return slowly{w.server.Transport()}
	}
	p, err := configure(w.t, w.arguments...).Open(w.t.Context(), in)
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

// slowly is a transport whose requests take as long as those of users.
type slowly struct{ http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (s slowly) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(150 * time.Millisecond)
	return s.RoundTripper.RoundTrip(r)
}

// run publishes once, and returns how many requests of each operation there were.
func (w *world) run(wanted ...*dns.RecordSet) (requests map[string]int, err error) {
	w.t.Helper()
	w.ask(wanted)
	w.server.Calls()
	_, err = w.publisher().Once(w.t.Context(), closed(), time.Minute)
	return w.requests(), err
}

// ask changes what objects ask for.
func (w *world) ask(wanted []*dns.RecordSet) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wanted = wanted
}

func (w *world) asked() []*dns.RecordSet {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.wanted
}

func closed() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// requests returns how many requests of each operation there were since the last call.
func (w *world) requests() map[string]int {
	requests := map[string]int{}
	for _, c := range w.server.Calls() {
		requests[c.Operation]++
	}
	return requests
}

// publisher returns a publisher of what is wanted.
func (w *world) publisher() *publisher.Publisher {
	w.t.Helper()
	p := w.provider
	if p == nil {
		p = w.open()
	}
	want, err := desired.New(desired.Options{Sources: []string{"service"}, ManagedTypes: w.managed, Properties: p.Capabilities().Properties, OneName: p.Capabilities().OneName})
	if err != nil {
		w.t.Fatal(err)
	}
	rules := plan.Rules{Policy: w.policy, Owner: w.owner, Managed: w.managed}
	o, err := owner.NewTXT(owner.TXTOptions{OwnerID: w.owner, Prefix: w.prefix, Suffix: w.suffix, Managed: rules.Manages})
	if err != nil {
		w.t.Fatal(err)
	}
	pub, err := publisher.New(publisher.Config{
		// What others change is seen soon, so that a schedule takes minutes.
		Limits:  publisher.Limits{ListingTime: publisher.DefaultInterval},
		Sources: []publisher.NamedSource{{Name: "service", Source: source.Source{Poll: func(context.Context) ([]*dns.RecordSet, error) { return w.asked(), nil }}}},
		Desired: want, Owner: o, Provider: p, Rules: rules, Domains: w.domains, DryRun: w.dryRun, Log: w.logger,
		Budget: budget.Limits{Deletions: budget.Limit{Percent: 100}, SettingsUpdates: budget.Limit{Percent: 100}, ObjectUpdates: budget.Limit{Percent: 100}, Window: time.Minute},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return pub
}

// publish publishes once, and checks how many batches there were.
func (w *world) publish(want int, wanted ...*dns.RecordSet) {
	w.t.Helper()
	requests, err := w.run(wanted...)
	if err != nil || requests[cloudflaretest.Batch] != want {
		w.t.Fatalf("%d batches and error %v, want %d; %v\n%s", requests[cloudflaretest.Batch], err, want, requests, w.log.String())
	}
}

// settle publishes, in some batches, and then once more, with no request that changes anything.
func (w *world) settle(want int, wanted ...*dns.RecordSet) {
	w.t.Helper()
	w.publish(want, wanted...)
	requests, err := w.run(wanted...)
	if changing := writesOf(requests); err != nil || changing > 0 {
		w.t.Fatalf("%d requests in the second run, error %v; %v\n%s", changing, err, requests, w.log.String())
	}
}

// writesOf returns how many requests may have changed something.
func writesOf(requests map[string]int) int {
	n := 0
	for operation, count := range requests {
		if !strings.HasPrefix(operation, "List") && !strings.HasPrefix(operation, "Get") {
			n += count
		}
	}
	return n
}

func total(requests map[string]int) int {
	n := 0
	for _, count := range requests {
		n += count
	}
	return n
}

// isText reports whether a record is an ownership record.
func isText(r cloudflaretest.Record) bool {
	return r.Type == "TXT" && strings.Contains(r.Content, "heritage=")
}

// has returns what the zone has, without markers: "name TYPE content", and what is unusual.
func (w *world) has() []string {
	var lines []string
	for _, r := range w.server.Records(w.zone) {
		if !isText(r) {
			lines = append(lines, line(r))
		}
	}
	return lines
}

func line(r cloudflaretest.Record) string {
	text := strings.TrimSuffix(r.Name, "."+zoneName) + " " + r.Type
	if r.Priority != nil {
		text += fmt.Sprintf(" %v", *r.Priority)
	}
	text += " " + r.Content
	if r.TTL != 1 {
		text += fmt.Sprintf(" ttl=%d", r.TTL)
	}
	if r.Proxied {
		text += " proxied"
	}
	if r.Comment != nil {
		text += " (" + *r.Comment + ")"
	}
	if len(r.Tags) > 0 {
		text += " " + strings.Join(r.Tags, "|")
	}
	return text
}

// expect compares what the zone has.
func (w *world) expect(want ...string) {
	w.t.Helper()
	got := w.has()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		w.t.Fatalf("the zone has\n\t%s\nwant\n\t%s\n%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"), w.log.String())
	}
}

// markers returns how many markers the zone has.
func (w *world) markers() int { return len(w.server.Records(w.zone)) - len(w.has()) }

// gone empties the zone, and checks that nothing is left.
func (w *world) gone() {
	w.t.Helper()
	w.publish(1)
	if left := w.server.Records(w.zone); len(left) > 0 {
		w.t.Fatalf("still there: %v", left)
	}
}

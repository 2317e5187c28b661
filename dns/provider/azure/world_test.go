package azure

import (
	"context"
	"fmt"
	"log/slog"
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
	"github.com/signpostd/signpost/testkit/azuretest"
)

const zoneName = "shop.test"

// world is a publisher that is run once and once again, over a server that knows what Azure
// knows. Its time is that of testing/synctest.
type world struct {
	t       *testing.T
	server  *azuretest.Server
	private bool
	// arguments are flags of the provider.
	arguments []string
	domains   *dns.DomainFilter
	ids       []string
	names     []string
	policy    plan.Policy
	// prefix and wildcard are flags of the registry.
	prefix, wildcard string
	dryRun           bool
	managed          []string
	// provider is used for all runs, if it isn't nil. Otherwise each run opens its own, as a
	// new process does.
	provider provider.Provider
	wanted   []*dns.RecordSet
	// poll returns what is wanted.
	poll  func() []*dns.RecordSet
	quiet bool
	// name is that of the provider, as the user gives it.
	name string
}

// inWorld runs a test in a world with a public zone.
func inWorld(t *testing.T, test func(w *world)) { inKind(t, false, test) }

// inBoth runs a test in a world with a public zone, and in one with a private zone.
func inBoth(t *testing.T, test func(w *world)) {
	for name, private := range map[string]bool{"public": false, "private": true} {
		t.Run(name, func(t *testing.T) { inKind(t, private, test) })
	}
}

func inKind(t *testing.T, private bool, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, private)
		w.addZone(zoneName, azuretest.Group)
		test(w)
	})
}

func newWorld(t *testing.T, private bool) *world {
	file := "--azure-config-file=" + settingsFile(t, nowhere, nil)
	w := &world{t: t, server: azuretest.New(), private: private, arguments: []string{file}, domains: dns.NewDomainFilter(nil, nil), policy: plan.Sync, managed: plan.DefaultManaged()}
	w.poll = func() []*dns.RecordSet { return w.wanted }
	return w
}

func (w *world) addZone(name, group string) {
	if w.private {
		w.server.AddPrivateZone(name, group)
	} else {
		w.server.AddZone(name, group)
	}
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

// open opens a provider over the server.
func (w *world) open() provider.Provider {
	w.t.Helper()
	in := input()
	in.Name, in.Domains, in.DryRun, in.ZoneIDs, in.ZoneNames = w.name, w.domains, w.dryRun, w.ids, w.names
	in.Log, in.Wrap = w.log(), transportOf(w.server)
	return open(w.t, in, w.private, w.arguments...)
}

func (w *world) log() *slog.Logger {
	if w.quiet {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(w.t.Output(), nil))
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
	_, err = w.publisher(p).Once(w.t.Context(), settled(), time.Hour)
	return w.requests(), err
}

// start begins a process, and returns what ends it.
func (w *world) start() (stop func()) {
	p := w.publisher(w.open())
	ctx, cancel := context.WithCancel(w.t.Context())
	var running sync.WaitGroup
	for _, run := range []func(context.Context) error{p.Run, p.Lead} {
		running.Go(func() {
			if err := run(ctx); err != nil {
				w.t.Error(err)
			}
		})
	}
	return func() {
		cancel()
		running.Wait()
	}
}

// requests returns how many requests of each operation there were since the last call.
func (w *world) requests() map[string]int {
	requests := map[string]int{}
	for _, c := range w.server.Calls() {
		requests[c.Operation]++
	}
	return requests
}

func settled() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// publisher returns a publisher for what is wanted.
func (w *world) publisher(p provider.Provider) *publisher.Publisher {
	w.t.Helper()
	want, err := desired.New(desired.Options{Sources: []string{"service"}, ManagedTypes: w.managed, Properties: p.Capabilities().Properties})
	if err != nil {
		w.t.Fatal(err)
	}
	rules := plan.Rules{Policy: w.policy, Owner: "me", Managed: w.managed}
	o, err := owner.NewTXT(owner.TXTOptions{OwnerID: "me", Prefix: w.prefix, WildcardReplacement: w.wildcard, Managed: rules.Manages})
	if err != nil {
		w.t.Fatal(err)
	}
	all := budget.Limit{Percent: 100}
	pub, err := publisher.New(publisher.Config{
		// What others change is seen soon, so that a schedule takes minutes.
		Limits:  publisher.Limits{ListingTime: publisher.DefaultInterval},
		Sources: []publisher.NamedSource{{Name: "service", Source: source.Source{Poll: func(context.Context) ([]*dns.RecordSet, error) { return w.poll(), nil }}}},
		Desired: want, Owner: o, Provider: p, Rules: rules, Domains: w.domains, DryRun: w.dryRun,
		Budget: budget.Limits{Deletions: all, SettingsUpdates: all, ObjectUpdates: all, Window: time.Minute}, Log: w.log(),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return pub
}

// writes returns how many of some requests change something.
func writes(requests map[string]int) int { return requests[azuretest.Put] + requests[azuretest.Delete] }

// publish publishes once, and checks how many requests there were that write.
func (w *world) publish(want int, wanted ...*dns.RecordSet) {
	w.t.Helper()
	requests, err := w.run(wanted...)
	if err != nil || writes(requests) != want {
		w.t.Fatalf("%d requests to change records and error %v, want %d; %v", writes(requests), err, want, requests)
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
		if !isMarker(r) {
			lines = append(lines, line(r))
		}
	}
	return lines
}

func isMarker(r azuretest.RecordSet) bool {
	return slices.ContainsFunc(r.Texts(), func(text string) bool { return strings.HasPrefix(text, `"heritage=`) })
}

// line returns a record set as text.
func line(r azuretest.RecordSet) string {
	text := r.Name + " " + r.Type
	for _, v := range r.A {
		text += " " + v.Address
	}
	for _, v := range r.AAAA {
		text += " " + v.Address
	}
	if r.CNAME != nil {
		text += " " + r.CNAME.Name
	}
	for _, v := range r.CAA {
		text += fmt.Sprintf(" %d/%s/%s", v.Flags, v.Tag, v.Value)
	}
	for _, v := range r.MX {
		text += fmt.Sprintf(" %d/%s", v.Preference, v.Exchange)
	}
	for _, v := range r.NS {
		text += " " + v.Name
	}
	for _, v := range r.PTR {
		text += " " + v.Name
	}
	for _, v := range r.SRV {
		text += fmt.Sprintf(" %d/%d/%d/%s", v.Priority, v.Weight, v.Port, v.Target)
	}
	for _, v := range r.TXT {
		text += fmt.Sprintf(" %q", v.Strings)
	}
	return text
}

// expect compares what the zone has.
func (w *world) expect(want ...string) {
	w.t.Helper()
	got := w.has(zoneName)
	slices.Sort(got)
	want = slices.Sorted(slices.Values(want))
	if !slices.Equal(got, want) {
		w.t.Fatalf("the zone has\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// markers returns how many markers the zone has.
func (w *world) markers() int { return len(w.server.Sets(zoneName)) - len(w.has(zoneName)) }

// gone empties the zone, and checks that nothing is left.
func (w *world) gone(want int) {
	w.t.Helper()
	w.publish(want)
	if left := w.server.Sets(zoneName); len(left) > 0 {
		w.t.Fatalf("still there: %v", left)
	}
}

// before has requests fail before they have an effect.
func (w *world) before(fault func(c azuretest.Call) *azuretest.Fault) {
	w.server.SetHooks(azuretest.Hooks{Before: fault})
}

// heal ends all faults.
func (w *world) heal() { w.server.SetHooks(azuretest.Hooks{}) }

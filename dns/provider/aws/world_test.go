package aws

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
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
	"github.com/signpostd/signpost/testkit/route53test"
)

const zoneName = "shop.test"

// world is a publisher that is run once and once again, over a server that knows what Route 53
// knows. Its time is that of testing/synctest, and its requests wait as those of users do.
type world struct {
	t      *testing.T
	server *route53test.Server
	// arguments are flags of the provider.
	arguments []string
	domains   *dns.DomainFilter
	policy    plan.Policy
	prefix    string
	// suffix and wildcard are --txt-suffix and --txt-wildcard-replacement.
	suffix, wildcard string
	dryRun           bool
	managed          []string
	// provider is used for all runs, if it isn't nil. Otherwise each run opens its own, as a
	// new process does.
	provider provider.Provider
	wanted   []*dns.RecordSet
	// wrap, if it isn't nil, wraps the transport of providers.
	wrap func(http.RoundTripper) http.RoundTripper
}

// inWorld runs a test in a world with a public zone, Z1.
func inWorld(t *testing.T, test func(w *world)) {
	t.Helper()
	start(t)
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, server: route53test.New(), domains: dns.NewDomainFilter(nil, nil), policy: plan.Sync, managed: plan.DefaultManaged()}
		w.server.AddZone(route53test.Zone{ID: "Z1", Name: zoneName})
		w.server.SetRate(5)
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

// open opens a provider over the server.
func (w *world) open() provider.Provider {
	w.t.Helper()
	c := configure(w.t, w.arguments...)
	c.rate, c.BatchInterval = usualRate, time.Second
	in := input()
	in.Domains, in.DryRun = w.domains, w.dryRun
	in.Log = slog.New(slog.NewTextHandler(w.t.Output(), nil))
	in.Wrap = func(http.RoundTripper) http.RoundTripper {
		if w.wrap != nil {
			return w.wrap(w.server.Transport())
		}
		return w.server.Transport()
	}
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
	want, err := desired.New(desired.Options{Sources: []string{"service"}, ManagedTypes: w.managed, Properties: p.Capabilities().Properties, NameCharacters: p.Capabilities().NameCharacters})
	if err != nil {
		w.t.Fatal(err)
	}
	rules := plan.Rules{Policy: w.policy, Owner: "me", Managed: w.managed}
	o, err := owner.NewTXT(owner.TXTOptions{OwnerID: "me", Prefix: w.prefix, Suffix: w.suffix, WildcardReplacement: w.wildcard, Managed: rules.Manages})
	if err != nil {
		w.t.Fatal(err)
	}
	pub, err := publisher.New(publisher.Config{
		Sources: []publisher.NamedSource{{Name: "service", Source: source.Source{Poll: func(context.Context) ([]*dns.RecordSet, error) { return w.wanted, nil }}}},
		Desired: want, Owner: o, Provider: p, Rules: rules, Domains: w.domains, DryRun: w.dryRun,
		Budget: budget.Limits{Deletions: budget.Limit{Percent: 100}, SettingsUpdates: budget.Limit{Percent: 100}, ObjectUpdates: budget.Limit{Percent: 100}, Window: time.Minute}, Log: slog.New(slog.NewTextHandler(w.t.Output(), nil)),
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

const (
	writes   = "ChangeResourceRecordSets"
	readings = "ListResourceRecordSets"
)

// publish publishes once, and checks how many requests there were that write.
func (w *world) publish(want int, wanted ...*dns.RecordSet) {
	w.t.Helper()
	requests, err := w.run(wanted...)
	if err != nil || requests[writes] != want {
		w.t.Fatalf("%d requests to change records and error %v, want %d; %v", requests[writes], err, want, requests)
	}
}

// settle publishes, in some requests, and then once more, in none.
func (w *world) settle(want int, wanted ...*dns.RecordSet) {
	w.t.Helper()
	w.publish(want, wanted...)
	w.publish(0, wanted...)
}

// has returns what a zone has, without markers: "name TYPE[id] values".
func (w *world) has(zoneID string) []string {
	var lines []string
	for _, r := range w.server.Sets(zoneID) {
		if r.Type != "TXT" || !strings.Contains(fmt.Sprint(r.ResourceRecords), "heritage=") {
			lines = append(lines, line(r))
		}
	}
	return lines
}

func line(r route53test.RecordSet) string {
	text := strings.TrimSuffix(strings.TrimSuffix(r.Name, "."), "."+zoneName) + " " + r.Type
	if r.SetIdentifier != "" {
		text += "[" + r.SetIdentifier + "]"
	}
	if a := r.AliasTarget; a != nil {
		return fmt.Sprintf("%s alias %s %s %t", text, a.DNSName, a.HostedZoneID, a.EvaluateTargetHealth)
	}
	for _, v := range r.ResourceRecords {
		text += " " + v.Value
	}
	return text
}

// expect compares what the zone Z1 has.
func (w *world) expect(want ...string) {
	w.t.Helper()
	got := w.has("Z1")
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		w.t.Fatalf("the zone has\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// markers returns how many markers the zone Z1 has.
func (w *world) markers() int {
	return len(w.server.Sets("Z1")) - len(w.has("Z1"))
}

// gone empties the zone, and checks that nothing is left.
func (w *world) gone() {
	w.t.Helper()
	w.publish(1)
	if left := w.server.Sets("Z1"); len(left) > 0 {
		w.t.Fatalf("still there: %v", left)
	}
}

func total(requests map[string]int) int {
	n := 0
	for v := range maps.Values(requests) {
		n += v
	}
	return n
}

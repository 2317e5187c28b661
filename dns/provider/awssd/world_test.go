package awssd

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
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
	"github.com/signpostd/signpost/testkit/cloudmaptest"
)

const zoneName = "shop.test"

// mine is the description of services of this publisher for the object of [set].
const mine = "heritage=external-dns,external-dns/owner=me,external-dns/resource=service/default/web"

// world is a publisher that is run once and once again, over a server that knows what Cloud Map
// knows. Its time is that of testing/synctest, and its requests wait as those of users do.
type world struct {
	t      *testing.T
	server *cloudmaptest.Server
	// arguments are flags of the provider.
	arguments []string
	policy    plan.Policy
	owner     owner.DescriptionOptions
	dryRun    bool
	// provider is used for all runs, if it isn't nil. Otherwise each run opens its own, as a
	// new process does.
	provider provider.Provider
	wanted   []*dns.RecordSet
	// said has what objects were told.
	said []string
}

// inWorld runs a test in a world with a public namespace, ns-1.
func inWorld(t *testing.T, test func(w *world)) {
	t.Helper()
	start(t)
	t.Setenv("AWS_ENDPOINT_URL_SERVICEDISCOVERY", "")
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		test(w)
	})
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, server: cloudmaptest.New(), policy: plan.Sync, owner: owner.DescriptionOptions{OwnerID: "me"}}
	w.server.AddNamespace(cloudmaptest.Namespace{ID: "ns-1", Name: zoneName, Type: cloudmaptest.Public})
	w.server.SetTime(2500 * time.Millisecond)
	w.server.SetRate(50)
	return w
}

// set returns a record set as an object asks for it.
func set(label, recordType, targets string) *dns.RecordSet {
	return &dns.RecordSet{
		Name: label + "." + zoneName, Type: recordType, Targets: strings.Split(targets, ","),
		Labels:  map[string]string{dns.LabelResource: "service/default/web"},
		Objects: []dns.Object{{APIVersion: "v1", Kind: "Service", Namespace: "default", Name: "web", Source: "service"}},
	}
}

// lasting returns a record set with a TTL.
func lasting(ttl int64, r *dns.RecordSet) *dns.RecordSet {
	r.TTL = ttl
	return r
}

// of returns a record set that another object asks for.
func of(resource string, r *dns.RecordSet) *dns.RecordSet {
	r.Labels[dns.LabelResource] = resource
	return r
}

// open opens a provider over the server.
func (w *world) open() provider.Provider {
	w.t.Helper()
	c := configure(w.t, w.arguments...)
	c.rate, c.dataRate, c.poll = usualRate, usualDataRate, firstPoll
	in := input()
	in.DryRun, in.OwnerID = w.dryRun, w.owner.OwnerID
	in.Log = slog.New(slog.NewTextHandler(w.t.Output(), nil))
	in.Wrap = over(w.server)
	p, err := c.Open(w.t.Context(), in)
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

// run publishes once, and returns how many requests of each action there were.
func (w *world) run(wanted ...*dns.RecordSet) (requests map[string]int, err error) {
	w.t.Helper()
	w.wanted = wanted
	w.server.Calls()
	p := w.provider
	if p == nil {
		p = w.open()
	}
	managed := plan.DefaultManaged()
	want, err := desired.New(desired.Options{Sources: []string{"service"}, ManagedTypes: managed, Properties: p.Capabilities().Properties})
	if err != nil {
		w.t.Fatal(err)
	}
	w.owner.Problems = func(p dns.Problem) { w.said = append(w.said, p.Subject+" "+p.Value+": "+p.Reason) }
	o, err := owner.NewDescriptions(w.owner)
	if err != nil {
		w.t.Fatal(err)
	}
	rules := plan.Rules{Policy: w.policy, Owner: o.ID(), OldOwner: w.owner.OldOwnerID, Managed: managed, OneLabel: o.ID() != ""}
	log := slog.New(slog.NewTextHandler(w.t.Output(), nil))
	all := budget.Limit{Percent: 100}
	pub, err := publisher.New(publisher.Config{
		// What others change is seen soon, so that a schedule takes minutes.
		Limits:  publisher.Limits{ListingTime: publisher.DefaultInterval},
		Sources: []publisher.NamedSource{{Name: "service", Source: source.Source{Poll: func(context.Context) ([]*dns.RecordSet, error) { return w.wanted, nil }}}},
		Desired: want, Owner: o, Provider: p, Rules: rules, Domains: dns.MatchAll(), DryRun: w.dryRun, Log: log,
		Budget: budget.Limits{Deletions: all, SettingsUpdates: all, ObjectUpdates: all, Window: time.Minute},
		Notify: func(n publisher.Notice) {
			if n.Action == publisher.ActionFailed {
				w.said = append(w.said, n.Reason+": "+n.Message)
			}
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	settled := make(chan struct{})
	close(settled)
	_, err = pub.Once(w.t.Context(), settled, 30*time.Minute)
	requests = map[string]int{}
	for _, c := range w.server.Calls() {
		requests[c.Operation]++
	}
	return requests, err
}

// writes returns how many requests change something.
func writes(requests map[string]int) int {
	n := 0
	for action, count := range requests {
		if !strings.HasPrefix(action, "List") && !strings.HasPrefix(action, "Get") && !strings.HasPrefix(action, "Discover") {
			n += count
		}
	}
	return n
}

// publish publishes once, and returns how many requests of each action there were.
func (w *world) publish(wanted ...*dns.RecordSet) map[string]int {
	w.t.Helper()
	requests, err := w.run(wanted...)
	if err != nil {
		w.t.Fatalf("%v; %v", err, requests)
	}
	return requests
}

// settle publishes, and then once more, without any request that changes something.
func (w *world) settle(wanted ...*dns.RecordSet) map[string]int {
	w.t.Helper()
	requests := w.publish(wanted...)
	if again := w.publish(wanted...); writes(again) > 0 {
		w.t.Fatalf("the second run writes: %v", again)
	}
	return requests
}

// line returns a service: "label POLICY TYPE=TTL… [id attributes…]… description".
func line(s cloudmaptest.Service) string {
	text := s.Name
	if s.Config != nil {
		text += " " + s.Config.RoutingPolicy
		for _, r := range s.Config.DNSRecords {
			text += fmt.Sprintf(" %s=%d", r.Type, r.TTL)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.Instances)) {
		text += " [" + id
		for _, key := range slices.Sorted(maps.Keys(s.Instances[id])) {
			text += fmt.Sprintf(" %s=%s", strings.TrimPrefix(strings.TrimPrefix(key, "AWS_"), "INSTANCE_"), s.Instances[id][key])
		}
		text += "]"
	}
	return text + " " + strings.Replace(s.Description, mine, "MINE", 1)
}

// expect compares the services of the namespace ns-1.
func (w *world) expect(want ...string) {
	w.t.Helper()
	w.expectIn("ns-1", want...)
}

func (w *world) expectIn(namespace string, want ...string) {
	w.t.Helper()
	var got []string
	for _, s := range w.server.Services(namespace) {
		got = append(got, line(s))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		w.t.Fatalf("the namespace has\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// address returns an instance with an address, as somebody else registers it.
func address(v4 string) map[string]map[string]string {
	return map[string]map[string]string{v4: {attributeIPv4: v4}}
}

// addresses is what a service for A records makes.
func addresses() *cloudmaptest.DNSConfig {
	return &cloudmaptest.DNSConfig{RoutingPolicy: "MULTIVALUE", DNSRecords: []cloudmaptest.Record{{Type: "A", TTL: 300}}}
}

// heard checks that an object was told something.
func (w *world) heard(text string) {
	w.t.Helper()
	if !slices.ContainsFunc(w.said, func(s string) bool { return strings.Contains(s, text) }) {
		w.t.Errorf("objects were told %q, want %q among it", w.said, text)
	}
}

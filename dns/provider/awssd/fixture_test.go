package awssd

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/owner"
	"github.com/signpostd/signpost/dns/plan"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/publisher"
	"github.com/signpostd/signpost/testkit/cloudmaptest"
	"github.com/signpostd/signpost/testkit/providertest"
	"github.com/signpostd/signpost/testkit/publishertest"
)

const zoneName = "shop.test"

// mine is the description of services of this publisher for the object of [set].
const mine = "heritage=external-dns,external-dns/owner=me,external-dns/resource=service/default/web"

// fixture is a publisher over a server that knows what Cloud Map knows. Its requests wait as those of users
// do.
type fixture struct {
	*publishertest.Fixture
	server *cloudmaptest.Server
	// arguments are flags of the provider.
	arguments []string
	owner     owner.DescriptionOptions
	// said has the Events of objects.
	said []string
}

// withFixture runs a test in a fixture with a public namespace, ns-1.
func withFixture(t *testing.T, test func(w *fixture)) {
	t.Helper()
	start(t)
	t.Setenv("AWS_ENDPOINT_URL_SERVICEDISCOVERY", "")
	synctest.Test(t, func(t *testing.T) { test(newFixture(t)) })
}

func newFixture(t *testing.T) *fixture {
	server := cloudmaptest.New()
	server.AddNamespace(cloudmaptest.Namespace{ID: "ns-1", Name: zoneName, Type: cloudmaptest.Public})
	server.SetTime(2500 * time.Millisecond)
	server.SetRate(50)
	w := &fixture{Fixture: publishertest.NewFixture(t), server: server, owner: owner.DescriptionOptions{OwnerID: "me"}}
	w.Server, w.Open, w.Configure, w.Patience = server, w.open, w.configure, 30*time.Minute
	return w
}

// configure changes the settings of a publisher: the owner is in the descriptions of services.
func (w *fixture) configure(c *publisher.Config) {
	w.owner.Problems = func(p dns.Problem) { w.said = append(w.said, p.Subject+" "+p.Value+": "+p.Reason) }
	o, err := owner.NewDescriptions(w.owner)
	if err != nil {
		w.T.Fatal(err)
	}
	c.Owner, c.Domains = o, dns.MatchAll()
	c.Rules = plan.Rules{Policy: w.Policy, Owner: o.ID(), OldOwner: w.owner.OldOwnerID, Managed: w.Managed, OneLabel: o.ID() != ""}
	c.Notify = func(n publisher.Notice) {
		if n.Action == publisher.ActionFailed {
			w.said = append(w.said, n.Reason+": "+n.Message)
		}
	}
}

// set returns a record set as an object asks for it.
func set(label, recordType, targets string) *dns.RecordSet {
	return publishertest.Set(label+"."+zoneName, recordType, targets)
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
func (w *fixture) open() provider.Provider {
	w.T.Helper()
	c := configure(w.T, w.arguments...)
	c.rate, c.dataRate, c.poll = defaultRate, defaultDataRate, firstPoll
	in := w.Input(w.server.Transport())
	in.Domains, in.OwnerID = input().Domains, w.owner.OwnerID
	return providertest.Open[*cloudMap](w.T, c, in)
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
func (w *fixture) publish(wanted ...*dns.RecordSet) map[string]int {
	w.T.Helper()
	requests, err := w.Run(wanted...)
	if err != nil {
		w.T.Fatalf("%v; %v", err, requests)
	}
	return requests
}

// settle publishes, and then once more, without any request that changes something.
func (w *fixture) settle(wanted ...*dns.RecordSet) map[string]int {
	w.T.Helper()
	requests := w.publish(wanted...)
	if again := w.publish(wanted...); writes(again) > 0 {
		w.T.Fatalf("the second run writes: %v", again)
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
func (w *fixture) expect(want ...string) {
	w.T.Helper()
	w.expectIn("ns-1", want...)
}

func (w *fixture) expectIn(namespace string, want ...string) {
	w.T.Helper()
	var got []string
	for _, s := range w.server.Services(namespace) {
		got = append(got, line(s))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		w.T.Fatalf("the namespace has\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
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

// heard checks that an object got an Event with a text.
func (w *fixture) heard(text string) {
	w.T.Helper()
	if !slices.ContainsFunc(w.said, func(s string) bool { return strings.Contains(s, text) }) {
		w.T.Errorf("events %q, want one with %q", w.said, text)
	}
}

package google

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	dnsapi "google.golang.org/api/dns/v1"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/clouddnstest"
	"github.com/signpostd/signpost/testkit/providertest"
	"github.com/signpostd/signpost/testkit/publishertest"
)

// zoneName is the name of the zone shop.
const (
	zoneName = "shop.test"
	shop     = "shop"
)

// fixture is a publisher over a server that knows what Cloud DNS knows.
type fixture struct {
	*publishertest.Fixture
	server *clouddnstest.Server
	// arguments are flags of the provider, and ids the zones to use.
	arguments, ids []string
}

// withFixture runs a test in a fixture with a public zone, shop.
func withFixture(t *testing.T, test func(w *fixture)) {
	t.Helper()
	prepare(t)
	synctest.Test(t, func(t *testing.T) { test(newFixture(t)) })
}

// newFixture returns a fixture in the bubble of a test.
func newFixture(t *testing.T) *fixture {
	w := &fixture{Fixture: publishertest.NewFixture(t), server: clouddnstest.New()}
	w.Server, w.Writes = w.server, func(operation string) bool { return operation == clouddnstest.CreateChange }
	w.Open, w.Lines = w.open, func() []string { return w.has(shop) }
	w.Count = func() int { return len(w.server.Sets(shop)) }
	w.server.AddZone(clouddnstest.Zone{Name: shop, DNSName: zoneName})
	return w
}

var set = publishertest.Set

// open opens a provider over the server, with the settings of users.
func (w *fixture) open() provider.Provider {
	w.T.Helper()
	c := configure(w.T, w.arguments...)
	c.BatchInterval = time.Second
	in := w.Input(recorder{w.server.Transport(), func(*http.Request) { time.Sleep(latency) }})
	in.ZoneIDs = w.ids
	return providertest.Open[*cloudDNS](w.T, c, in)
}

// has returns what a zone has, without ownership records: "name TYPE values".
func (w *fixture) has(zone string) []string {
	var lines []string
	for _, r := range w.server.Sets(zone) {
		if !isOwnershipRecord(r) {
			lines = append(lines, line(r))
		}
	}
	return lines
}

func isOwnershipRecord(r clouddnstest.RecordSet) bool {
	return r.Type == "TXT" && strings.Contains(fmt.Sprint(r.Datas), "heritage=")
}

func line(r clouddnstest.RecordSet) string {
	return strings.TrimSpace(fmt.Sprint(strings.TrimSuffix(strings.TrimSuffix(r.Name, "."), "."+zoneName), " ", r.Type, " ", strings.Join(r.Datas, " "), string(r.Policy)))
}

// refuseIf has the server answer some requests with a fault, before they have an effect. It calls
// the function for one request at a time.
func (w *fixture) refuseIf(fault *clouddnstest.Fault, when func(clouddnstest.Call) bool) {
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

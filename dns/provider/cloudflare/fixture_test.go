package cloudflare

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/cloudflaretest"
	"github.com/signpostd/signpost/testkit/providertest"
	"github.com/signpostd/signpost/testkit/publishertest"
)

const zoneName = "shop.test"

// fixture is a publisher over a server that knows what Cloudflare knows. Its requests wait as those of users
// do.
type fixture struct {
	*publishertest.Fixture
	server *cloudflaretest.Server
	// zone is the ID of the zone.
	zone string
	// arguments are flags of the provider, and ids the zones to use.
	arguments, ids []string
	// log has what was logged.
	log strings.Builder
}

// withFixture runs a test in a fixture with a zone of a plan.
func withFixture(t *testing.T, plan string, test func(w *fixture)) {
	t.Helper()
	environment(t, "https://api.test/client/v4")
	synctest.Test(t, func(t *testing.T) { test(newFixture(t, plan)) })
}

// newFixture returns a fixture in the bubble of a test.
func newFixture(t *testing.T, zonePlan string) *fixture {
	w := &fixture{Fixture: publishertest.NewFixture(t), server: cloudflaretest.New()}
	w.Server, w.Changes = w.server, changes
	w.Writes = func(operation string) bool { return operation == cloudflaretest.Batch }
	w.Open, w.Lines, w.Log = w.open, w.has, slog.New(slog.NewTextHandler(&w.log, nil))
	w.Count = func() int { return len(w.server.Records(w.zone)) }
	w.zone = w.server.AddZone(cloudflaretest.Zone{Name: zoneName, Plan: zonePlan})
	w.server.SetRate(1200)
	return w
}

// want returns a record set as an object asks for it. Properties are name=value, without the prefix of the
// provider.
func want(name, recordType, target string, properties ...string) *dns.RecordSet {
	var all []string
	for _, p := range properties {
		if !strings.HasPrefix(p, "ttl=") {
			p = prefix + p
		}
		all = append(all, p)
	}
	return publishertest.Set(name, recordType, target, all...)
}

// open opens a provider over the server.
func (w *fixture) open() provider.Provider {
	w.T.Helper()
	in := w.Input(slowly{w.server.Transport()})
	in.ZoneIDs = w.ids
	return providertest.Open[*cloudflareProvider](w.T, configure(w.T, w.arguments...), in)
}

// slowly is a transport whose requests take as long as those of users.
type slowly struct{ http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (s slowly) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(150 * time.Millisecond)
	return s.RoundTripper.RoundTrip(r)
}

// changes reports whether an operation may change something.
func changes(operation string) bool {
	return !strings.HasPrefix(operation, "List") && !strings.HasPrefix(operation, "Get")
}

// writesOf returns how many requests may have changed something.
func writesOf(requests map[string]int) int {
	n := 0
	for operation, count := range requests {
		if changes(operation) {
			n += count
		}
	}
	return n
}

// isText reports whether a record is an ownership record.
func isText(r cloudflaretest.Record) bool {
	return r.Type == "TXT" && strings.Contains(r.Content, "heritage=")
}

// has returns what the zone has, without ownership records: "name TYPE content", and what is unusual.
func (w *fixture) has() []string {
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

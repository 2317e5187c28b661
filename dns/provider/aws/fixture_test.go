package aws

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/providertest"
	"github.com/signpostd/signpost/testkit/publishertest"
	"github.com/signpostd/signpost/testkit/route53test"
)

const zoneName = "shop.test"

// fixture is a publisher over a server that knows what Route 53 knows. Its requests wait as those of users
// do.
type fixture struct {
	*publishertest.Fixture
	server *route53test.Server
	// arguments are flags of the provider.
	arguments []string
}

// withFixture runs a test in a fixture with a public zone, Z1.
func withFixture(t *testing.T, test func(w *fixture)) {
	t.Helper()
	start(t)
	synctest.Test(t, func(t *testing.T) { test(newFixture(t)) })
}

// newFixture returns a fixture in the bubble of a test.
func newFixture(t *testing.T) *fixture {
	w := &fixture{Fixture: publishertest.NewFixture(t), server: route53test.New()}
	w.Server, w.Writes = w.server, func(operation string) bool { return operation == writes }
	w.Open, w.Lines = w.open, func() []string { return w.has("Z1") }
	w.Count = func() int { return len(w.server.Sets("Z1")) }
	w.server.AddZone(route53test.Zone{ID: "Z1", Name: zoneName})
	w.server.SetRate(5)
	return w
}

var set = publishertest.Set

// open opens a provider over the server.
func (w *fixture) open() provider.Provider {
	w.T.Helper()
	c := configure(w.T, w.arguments...)
	c.rate, c.BatchInterval = defaultRate, time.Second
	return providertest.Open[*route53Provider](w.T, c, w.Input(w.server.Transport()))
}

const (
	writes   = "ChangeResourceRecordSets"
	readings = "ListResourceRecordSets"
)

// has returns what a zone has, without ownership records: "name TYPE[id] values".
func (w *fixture) has(zoneID string) []string {
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

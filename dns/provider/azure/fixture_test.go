package azure

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/azuretest"
	"github.com/signpostd/signpost/testkit/publishertest"
)

const zoneName = "shop.test"

// fixture is a publisher over a server that knows what Azure knows.
type fixture struct {
	*publishertest.Fixture
	server  *azuretest.Server
	private bool
	// arguments are flags of the provider, ids and names the zones to use, and name that of the provider.
	arguments, ids, names []string
	name                  string
}

// withFixture runs a test in a fixture with a public zone.
func withFixture(t *testing.T, test func(w *fixture)) { inKind(t, false, test) }

// inBoth runs a test in a fixture with a public zone, and in one with a private zone.
func inBoth(t *testing.T, test func(w *fixture)) {
	for name, private := range map[string]bool{"public": false, "private": true} {
		t.Run(name, func(t *testing.T) { inKind(t, private, test) })
	}
}

func inKind(t *testing.T, private bool, test func(w *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, private)
		w.addZone(zoneName, azuretest.Group)
		test(w)
	})
}

func newFixture(t *testing.T, private bool) *fixture {
	w := &fixture{Fixture: publishertest.NewFixture(t), server: azuretest.New(), private: private}
	w.arguments = []string{"--azure-config-file=" + settingsFile(t, nowhere, nil)}
	w.Server, w.Writes = w.server, func(operation string) bool { return operation == azuretest.Put || operation == azuretest.Delete }
	w.Open, w.Lines, w.Patience = w.open, func() []string { return w.has(zoneName) }, time.Hour
	w.Count = func() int { return len(w.server.Sets(zoneName)) }
	return w
}

func (w *fixture) addZone(name, group string) {
	if w.private {
		w.server.AddPrivateZone(name, group)
	} else {
		w.server.AddZone(name, group)
	}
}

var set = publishertest.Set

// open opens a provider over the server.
func (w *fixture) open() provider.Provider {
	w.T.Helper()
	in := w.Input(transportOf(w.server)(nil))
	in.Name, in.ZoneIDs, in.ZoneNames = w.name, w.ids, w.names
	return open(w.T, in, w.private, w.arguments...)
}

// writes returns how many of some requests change something.
func writes(requests map[string]int) int { return requests[azuretest.Put] + requests[azuretest.Delete] }

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

func isOwnershipRecord(r azuretest.RecordSet) bool {
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

// before has requests fail before they have an effect.
func (w *fixture) before(fault func(c azuretest.Call) *azuretest.Fault) {
	w.server.SetHooks(azuretest.Hooks{Before: fault})
}

// endFaults ends all faults.
func (w *fixture) endFaults() { w.server.SetHooks(azuretest.Hooks{}) }

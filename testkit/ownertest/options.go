package ownertest

import (
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/owner"
)

// Options say what [Run] is to check.
type Options struct {
	// Open returns what a scenario needs. Each one gets its own.
	Open func(t *testing.T) Fixture
	// Without names scenarios that the owner can't pass, and says why.
	Without map[string]string
}

// Fixture is where owners of one kind keep ownership.
type Fixture struct {
	// Process returns an owner as a new process has it. OldID is the owner whose record sets may
	// become its own, or empty.
	Process func(id, oldID string) owner.Owner
	// Left returns how many record sets ownership is kept of. It is nil for owners that keep it
	// in the zone.
	Left func() int
	// Plant adds what ExternalDNS keeps of a record set of an owner. It is nil for owners that
	// keep it in the zone.
	Plant func(id string, r *dns.RecordSet)
}

// scenario is something that happens, and whose records are whose then.
type scenario struct {
	name string
	play func(s *scene)
}

// Run has an owner go through all scenarios. Each is a subtest.
func Run(t *testing.T, o Options) {
	t.Helper()
	names := map[string]bool{}
	for _, list := range [][]scenario{scenarios, outside} {
		for _, c := range list {
			names[c.name] = true
			if o.Without[c.name] == "" {
				t.Run(c.name, func(t *testing.T) { c.play(newScene(t, o.Open(t))) })
			}
		}
	}
	for name := range o.Without {
		if !names[name] {
			t.Errorf("Without has %q, which is no scenario of the kit", name)
		}
	}
}

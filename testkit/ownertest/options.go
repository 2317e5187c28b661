package ownertest

import (
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/owner"
)

// Options configure [Run].
type Options struct {
	// Open returns the fixture of a scenario. Each scenario gets its own.
	Open func(t *testing.T) Fixture
	// Without names scenarios that the registry can't pass, with the reason.
	Without map[string]string
}

// Fixture is the storage of registries of one kind.
type Fixture struct {
	// Process returns a registry as a new process opens it. OldID is the owner ID whose record sets may be
	// taken over, or empty.
	Process func(id, oldID string) owner.Owner
	// Left returns the number of record sets with stored ownership. It is nil for registries in the zone.
	Left func() int
	// Plant adds the data that ExternalDNS stores for a record set of an owner. It is nil for registries in
	// the zone.
	Plant func(id string, r *dns.RecordSet)
}

// scenario is a sequence of events, with checks of ownership.
type scenario struct {
	name string
	play func(s *sharedZone)
}

// Run runs all scenarios for a registry. Each is a subtest.
func Run(t *testing.T, o Options) {
	t.Helper()
	names := map[string]bool{}
	for _, list := range [][]scenario{scenarios, outside} {
		for _, c := range list {
			names[c.name] = true
			if o.Without[c.name] == "" {
				t.Run(c.name, func(t *testing.T) { c.play(newSharedZone(t, o.Open(t))) })
			}
		}
	}
	for name := range o.Without {
		if !names[name] {
			t.Errorf("Without has %q, which is no scenario of the kit", name)
		}
	}
}

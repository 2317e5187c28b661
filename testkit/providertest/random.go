package providertest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/testkit/longtest"
)

// randomStates is the number of states in the check of random changes.
const randomStates = 40

// random makes the zone take random states. In each state names have nothing, an alias, or addresses and
// texts, so that every kind of change occurs.
func random(t *testing.T, o Options) {
	z := open(t, o, forward)
	rng := rand.New(rand.NewPCG(1, uint64(len(o.Types))))
	state := map[string][]record{}
	for range longtest.Rounds(randomStates) {
		for range 1 + rng.IntN(3) {
			name := fmt.Sprintf("%c%d", 'a'+rng.IntN(2), rng.IntN(3))
			state[name] = occupant(rng, name, o.Types)
		}
		var records []record
		for _, name := range slices.Sorted(maps.Keys(state)) {
			records = append(records, state[name]...)
		}
		wanted := make([]*dns.RecordSet, len(records))
		for i, r := range records {
			wanted[i] = r.recordSet(z.name)
		}
		z.become(wanted)
		for _, r := range records {
			r.lookup(z)
		}
	}
}

// occupant returns the records of a name in a state, of the supported types.
func occupant(rng *rand.Rand, name string, types []string) []record {
	var all []record
	switch rng.IntN(4) {
	case 0:
		return nil
	case 1:
		all = []record{alias(name, fmt.Sprintf("lb%d.example.net", rng.IntN(3)))}
	default:
		for i := range 1 + rng.IntN(3) {
			all = append(all, choices(name, rng.IntN(4))[i])
		}
	}
	ttl := int64(60 * (1 + rng.IntN(2)))
	var able []record
	for _, r := range all {
		if slices.Contains(types, r.recordType) {
			able = append(able, r.withTTL(ttl))
		}
	}
	return able
}

func choices(name string, n int) []record {
	addresses, texts := []string{}, []string{}
	for i := range n + 1 {
		addresses = append(addresses, fmt.Sprintf("192.0.2.%d", n*2+i))
		texts = append(texts, fmt.Sprintf(`"text %d; of \"%d\""`, i, n))
	}
	return []record{address(name, addresses...), address6(name, fmt.Sprintf("2001:db8::%d", n+1)), text(name, texts...)}
}

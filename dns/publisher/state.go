package publisher

import (
	"slices"
	"strings"
	"time"

	"github.com/signpostd/signpost/dns"
)

// State says where a name is on its way into a zone, and why it isn't as objects ask for.
type State struct {
	// Name is canonical. Zone is the zero value for a name that is in no zone.
	Name string
	Zone dns.Zone
	// Phase is settled, dirty, asking, planned, held, waiting or applying: see
	// docs/architecture.md.
	Phase string
	// Reason is one of the reasons of [Notice], and Message says what is wrong and what to do.
	// Both are empty if nothing is known to be wrong.
	Reason, Message string
	// Next is when something happens if no object and no zone changes before. It is zero for
	// at once, for never, and for unknown.
	Next time.Time
}

// state returns the state of one name of the zone.
func (z *zone) state(n *nameState) State {
	s := State{Name: n.name, Zone: z.Zone, Phase: n.phase.String(), Reason: n.reason, Message: n.message, Next: n.next}
	if s.Reason != "" || n.phase == settled {
		return s
	}
	for _, t := range []trouble{z.reading, z.writing, z.adjusting} {
		if t.err != nil {
			s.Reason, s.Message, s.Next = ReasonProvider, t.err.Error(), t.retryAt
		}
	}
	return s
}

// states returns those of all names of the zone about which there is something to say or to
// do, by name.
func (z *zone) states() []State {
	list := make([]State, 0, len(z.names.all))
	for _, n := range z.names.all {
		list = append(list, z.state(n))
	}
	slices.SortFunc(list, func(a, b State) int { return strings.Compare(a.Name, b.Name) })
	return list
}

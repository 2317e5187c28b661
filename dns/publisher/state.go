package publisher

import (
	"slices"
	"strings"
	"time"

	"github.com/signpostd/signpost/dns"
)

// State is the state of a name in a zone, for users.
type State struct {
	// Name is canonical. Zone is the zero value for an unzoned name.
	Name string
	Zone dns.Zone
	// Phase is settled, dirty, asking, planned, held, waiting or applying; see docs/architecture.md.
	Phase string
	// Reason is one of the reasons of [Notice]. Message says what is wrong and what to do. Both are
	// empty if no problem is known.
	Reason, Message string
	// Next is the time of the next step if no object and no zone changes before. Zero means at once,
	// never or unknown.
	Next time.Time
}

func (z *zone) state(n *nameState) State {
	s := State{Name: n.name, Zone: z.Zone, Phase: n.phase.String(), Reason: n.reason, Message: n.message, Next: n.next}
	if s.Reason != "" || n.phase == settled {
		return s
	}
	if t := z.failure(); t.err != nil {
		s.Reason, s.Message, s.Next = ReasonProvider, t.err.Error(), t.retryAt
	}
	return s
}

// states returns the states of all names of the zone, except quiet ones, by name.
func (z *zone) states() []State {
	list := make([]State, 0, len(z.names.all))
	for _, n := range z.names.all {
		list = append(list, z.state(n))
	}
	slices.SortFunc(list, func(a, b State) int { return strings.Compare(a.Name, b.Name) })
	return list
}

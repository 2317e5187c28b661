package publisher

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/plan"
)

// candidateID identifies a candidate of a name.
type candidateID struct{ recordType, identifier, object, targets string }

func idOf(r *dns.RecordSet) candidateID {
	return candidateID{r.Type, r.SetIdentifier, r.Labels[dns.LabelResource], strings.Join(r.Targets, " ")}
}

// maxLost limits how many losing or refused candidates of a name are notified and shown.
const maxLost = 64

// reportLost records which candidates of a name lose to others, and notifies their objects when that
// changes.
func (p *Publisher) reportLost(z *zone, n *nameState, wanted []plan.Candidate, out plan.Outcome) {
	var lost map[candidateID]string
	var refused map[candidateID]error
	for _, w := range wanted {
		if w.Err != nil {
			refused = put(refused, idOf(w.Set), w.Err)
		}
	}
	for _, l := range out.Lost[:min(len(out.Lost), maxLost)] {
		// Once the winner is the holder, the loss stays the same and isn't reported again.
		id, to := idOf(l.Set), winnerOf(l)
		if lost = put(lost, id, to); n.lost[id] != to {
			p.reportFailed(z, l.Set, ReasonConflict, p.lossMessage(l))
		}
	}
	if p.DryRun && len(out.Changes) > 0 {
		// No further plan reports these.
		for _, w := range out.Refused {
			p.reportFailed(z, w.Set, ReasonError, w.Err.Error())
		}
	}
	z.names.contest(n, lost, refused)
}

func put[V any](m map[candidateID]V, id candidateID, value V) map[candidateID]V {
	if m == nil {
		m = map[candidateID]V{}
	}
	m[id] = value
	return m
}

// reportFailed notifies the objects of a record set why it isn't published.
func (p *Publisher) reportFailed(z *zone, r *dns.RecordSet, reason, message string) {
	p.Log.Warn("Can't publish a record", "record", r.Name, "type", r.Type, "zone", z.Name, "object", r.Labels[dns.LabelResource], "err", message)
	p.Notify(Notice{Objects: r.Objects, Record: r, Action: ActionFailed, Reason: reason, Message: message})
}

// winnerOf identifies the winner over a candidate.
func winnerOf(l plan.Loss) string {
	if l.Err != nil {
		return l.Err.Error()
	}
	return l.Winner.Type + " of " + objectName(l.Winner)
}

// lossMessage says which object has the record set that a candidate asks for.
func (p *Publisher) lossMessage(l plan.Loss) string {
	what := fmt.Sprintf("the %s record %s", l.Winner.Type, l.Winner.Name)
	switch {
	case l.Err != nil:
		return "the provider refuses it: " + l.Err.Error()
	case sameObject(l.Set, l.Winner) && l.Set.Type != l.Winner.Type:
		return fmt.Sprintf("the %s record %s can't stand beside records of other types, so it is not published: ask for one or the other", l.Set.Type, l.Set.Name)
	case sameObject(l.Set, l.Winner):
		return fmt.Sprintf("the object asks for %s more than once, and %s is published: ask for one of them", what, quote(strings.Join(l.Winner.Targets, ",")))
	}
	who := objectName(l.Winner)
	reason := fmt.Sprintf("%s asks for %s, too, and comes first: use another name, or have the other object give it up", who, what)
	if l.Holder {
		reason = fmt.Sprintf("%s has %s and keeps it as long as it asks for it: use another name, or have the other object give it up", who, what)
	}
	if l.Set.Type != l.Winner.Type {
		reason = fmt.Sprintf("a record of the type %s can't stand beside it: %s", l.Set.Type, reason)
	}
	if p.differInIdentifiers(l.Set) {
		reason += " (the provider doesn't support set identifiers, so it can have only one of these records)"
	}
	return reason
}

// differInIdentifiers reports whether the wanted record sets of a name have set identifiers, which
// the provider doesn't support.
func (p *Publisher) differInIdentifiers(r *dns.RecordSet) bool {
	return !p.capabilities.SetIdentifiers &&
		p.asked(dns.Canonical(r.Name), func(a *dns.RecordSet) bool { return a.Type == r.Type && a.SetIdentifier != "" })
}

func sameObject(a, b *dns.RecordSet) bool {
	if object := a.Labels[dns.LabelResource]; object != "" {
		return object == b.Labels[dns.LabelResource]
	}
	return len(a.Objects) > 0 && len(b.Objects) > 0 && a.Objects[0] == b.Objects[0]
}

// objectName returns the object of a record set as text, for example service/shop/web.
func objectName(r *dns.RecordSet) string {
	name := r.Labels[dns.LabelResource]
	if name == "" && len(r.Objects) > 0 {
		o := r.Objects[0]
		name = strings.ToLower(o.Kind) + "/" + strings.TrimPrefix(o.Namespace+"/"+o.Name, "/")
	}
	return cmp.Or(name, "another object")
}

func asChanges(candidates []plan.Candidate) []dns.Change {
	changes := make([]dns.Change, len(candidates))
	for i, c := range candidates {
		changes[i].New = c.Set
	}
	return changes
}

// RowLoser is a wanted record set that isn't published because another object has it.
type RowLoser struct {
	Objects []dns.Object
	// Targets are the wanted targets.
	Targets []string
	// Message says which object has the name, and what to do.
	Message string
}

// choose splits the candidates of a name into those that are published and those that lose.
func (p *Publisher) choose(at nameInZone, wanted []plan.Candidate) (chosen []plan.Candidate, lost []plan.Loss) {
	if at.zone == nil {
		return plan.Choose(nil, wanted, &p.Rules)
	}
	if n := at.zone.names.all[at.name]; n != nil && len(n.refused) > 0 {
		wanted = slices.Clone(wanted)
		for i := range wanted {
			wanted[i].Err = n.refused[idOf(wanted[i].Set)]
		}
	}
	return plan.Choose(p.current(at.zone, at.name), wanted, &p.Rules)
}

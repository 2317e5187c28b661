package publisher

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/desired"
	"github.com/signpostd/signpost/dns/plan"
	"github.com/signpostd/signpost/dns/tenancy"
)

// demand is the record sets that objects ask for under a name, after tenancy and capabilities.
type demand struct {
	// wanted are the record sets in the provider's form. unsupported are those that the provider can't
	// store.
	wanted      []plan.Candidate
	unsupported []unsupportedSet
	// granted are the namespaces whose objects count. refused are the others.
	granted []string
	refused []tenancy.Refusal
	// transferAt is when the name goes to another namespace, if the holder doesn't ask for it any
	// more; else zero.
	transferAt time.Time
}

func (w *demand) sets() []*dns.RecordSet { return plan.Sets(w.wanted) }

// demandFor computes the result of want.
func (p *Publisher) demandFor(z *zone, name string) demand {
	if p.NamePolicy != tenancy.Namespaced && p.MaxNames == 0 {
		w, rank := demand{}, p.rank(z, name)
		w.wanted, w.unsupported = p.splitSupported(p.Desired.Candidates(name, rank), rank)
		return w
	}
	if z == nil {
		if holders := p.zones.zonesFor(name); len(holders) > 0 {
			z = holders[0]
		}
	}
	c, until := p.caseOf(z, name)
	d := tenancy.Decide(p.NamePolicy, c)
	w, rank := demand{granted: d.Granted, refused: d.Refused}, p.rank(z, name)
	w.wanted, w.unsupported = p.splitSupported(p.Desired.CandidatesOf(name, rank, d.Granted...), rank)
	if len(d.Granted) == 0 && len(c.Asking) > 0 {
		w.transferAt = until
	}
	return w
}

// caseOf returns the input of [tenancy.Decide] for a name in a zone, and when the name goes to
// another namespace. The time is zero while the holder asks for the name.
func (p *Publisher) caseOf(z *zone, name string) (c tenancy.Case, until time.Time) {
	c = tenancy.Case{Asking: p.Desired.Namespaces(name), Limit: p.MaxNames}
	if len(c.Asking) == 0 || z == nil {
		return c, time.Time{}
	}
	c.Holder, c.Held = p.holderOf(z, name)
	if p.limitsNames() {
		c.Full = func(namespace string) bool {
			return z.shares.full(name, namespace, z.mirror.namesByHolder[tenant(namespace)])
		}
	}
	if p.NamePolicy != tenancy.Namespaced {
		return c, time.Time{}
	}
	if c.Held && !slices.Contains(c.Asking, c.Holder) {
		if c.Keeps = p.mayAsk(name, c.Holder); !c.Keeps {
			until = p.transferTime(z, name)
			c.Keeps = !until.IsZero()
		}
	}
	if !c.Held || len(c.Asking) > 1 || c.Asking[0] != c.Holder {
		c.DependsOn, c.DependsOnHolder = p.dependencyOf(z, name)
	}
	return c, until
}

// limitsNames reports whether the names of a namespace are limited. Counting them needs ownership.
func (p *Publisher) limitsNames() bool { return p.MaxNames > 0 && p.Rules.Owner != "" }

// holderOf returns the namespace that has a name in the given zone, else in another zone that holds
// the name.
func (p *Publisher) holderOf(z *zone, name string) (namespace string, held bool) {
	if h := z.mirror.node(name).holder; h != nobody {
		return h.Value(), true
	}
	for _, other := range p.zones.zonesFor(name) {
		if h := other.mirror.node(name).holder; h != nobody {
			return h.Value(), true
		}
	}
	return "", false
}

// mayAsk reports whether an unread or unresolved object of a namespace may ask for a name.
func (p *Publisher) mayAsk(name, namespace string) bool {
	if !p.complete() || p.Desired.UnresolvedIn(name, namespace) {
		return true
	}
	for origin := range p.unresolved {
		if origin.Namespace == namespace {
			return true
		}
	}
	return false
}

// concerned returns a function that reports whether objects of a namespace may have record sets of
// a name. With [tenancy.Namespaced], only the holder and the namespace that gets the name may.
// Unresolved objects of other namespaces can't delay changes of the name.
func (p *Publisher) concerned(z *zone, name string, w demand) func(namespace string) bool {
	holder, held := p.holderOf(z, name)
	if p.NamePolicy != tenancy.Namespaced || !held {
		return func(string) bool { return true }
	}
	return func(namespace string) bool { return namespace == holder || slices.Contains(w.granted, namespace) }
}

// transferTime returns when a name that its holder no longer asks for goes to another namespace;
// zero means now. An object that is being replaced is missing for a moment, and must not lose its
// name.
func (p *Publisher) transferTime(z *zone, name string) time.Time {
	if p.once != nil || p.DeletionDelay == 0 {
		return time.Time{}
	}
	now, since := time.Now(), time.Time{}
	if n := z.names.all[name]; n != nil {
		since = n.lossSince
	}
	if since.IsZero() {
		since = now
	}
	if until := since.Add(p.DeletionDelay); now.Before(until) {
		return until
	}
	return time.Time{}
}

// dependencyOf returns the name that decides which namespace may have a given name, with that
// namespace; "" if there is none:
//
//   - for a name whose records say something about another name, such as that of an ACME challenge,
//     the other name,
//   - for the name of an ownership record, the name of its record set,
//   - for one of two names with the same ownership records, the other.
func (p *Publisher) dependencyOf(z *zone, name string) (other, namespace string) {
	var candidates []string
	if txt := p.txt(); txt != nil && p.blocksOwnership(name) {
		candidates = txt.Describes(name)
	}
	if p.asksForAttribute(name) {
		candidates = append(candidates, tenancy.DescribedBy(name)...)
	}
	twin := p.twin(name)
	for _, other := range append(candidates, twin) {
		if other == name || other == "" {
			continue
		}
		if holder, held := p.holderOf(z, other); held {
			return other, holder
		}
		// If no namespace has either twin, the first in alphabetical order counts: the wildcard.
		if asking := p.Desired.Namespaces(other); len(asking) > 0 && (other != twin || other < name) {
			return other, asking[0]
		}
	}
	return "", ""
}

// blocksOwnership reports whether objects ask for a CNAME or TXT record set under a name, which can't
// coexist with an ownership record.
func (p *Publisher) blocksOwnership(name string) bool {
	return p.asked(name, func(r *dns.RecordSet) bool { return r.Type == dns.TypeCNAME || r.Type == dns.TypeTXT })
}

// asksForAttribute reports whether objects ask for record sets under a name that say something about
// another name.
func (p *Publisher) asksForAttribute(name string) bool {
	return p.asked(name, func(r *dns.RecordSet) bool { return tenancy.IsAttribute(name, r.Type) })
}

// touchDependents plans the names again that depend on the holder of another name, which may have
// changed.
func (p *Publisher) touchDependents(name string) {
	if p.NamePolicy != tenancy.Namespaced {
		return
	}
	again := func(dependent string) {
		if dependent != "" && p.Desired.Contains(dependent) {
			p.touchName(dependent)
		}
	}
	for dependent := range p.Desired.Describing(name) {
		again(dependent)
	}
	again(p.twin(name))
	if txt := p.txt(); txt != nil {
		for _, recordType := range p.Rules.Managed {
			again(dns.Canonical(txt.OwnershipRecordName(name, recordType)))
		}
	}
}

// holderIn returns the namespace in the label resource of the record sets under a name that are ours,
// or become ours if they are wanted. If they differ, the first type counts.
func (p *Publisher) holderIn(sets []plan.Current) tenantID {
	var first *dns.RecordSet
	holder := nobody
	for _, c := range sets {
		if p.Rules.Owner == "" || !p.Rules.MayOwn(c.Set) {
			continue
		}
		namespace, known := tenancy.HolderOf(c.Set.Labels[dns.LabelResource])
		if known && (first == nil || c.Set.Type+" "+c.Set.SetIdentifier < first.Type+" "+first.SetIdentifier) {
			first, holder = c.Set, tenant(namespace)
		}
	}
	return holder
}

// relabelled rewrites the ownership records that name an object of another namespace than the
// holder.
func (p *Publisher) relabelled(current []plan.Current, wanted []*dns.RecordSet) []plan.Current {
	if p.NamePolicy != tenancy.Namespaced || p.Rules.Owner == "" {
		return current
	}
	for i, c := range current {
		was, known := tenancy.HolderOf(c.Set.Labels[dns.LabelResource])
		current[i].RewriteOwnership = c.RewriteOwnership || p.Rules.Owns(c.Set) && slices.ContainsFunc(wanted, func(w *dns.RecordSet) bool {
			is, labelled := tenancy.HolderOf(w.Labels[dns.LabelResource])
			return w.Key() == c.Set.Key() && labelled && (!known || is != was)
		})
	}
	return current
}

// namespaceOf returns the namespace whose turn a name uses: the holder, else the first that asks
// for it.
func (p *Publisher) namespaceOf(z *zone, name string) string {
	if h := z.mirror.node(name).holder; h != nobody {
		return h.Value()
	}
	if asking := p.Desired.OriginsOf(name); len(asking) > 0 {
		return asking[0].Namespace
	}
	return ""
}

// refusals collects the refused names of one pass by object.
type refusals map[dns.Object][]refusedName

type refusedName struct {
	set     *dns.RecordSet
	refusal tenancy.Refusal
}

// grant records which namespaces got a name and which were refused, and adds new refusals to
// unreported.
func (p *Publisher) grant(z *zone, name string, w demand, unreported refusals) {
	held := z.mirror.node(name).holder != nobody
	if p.limitsNames() {
		full := z.shares.grant(name, w, held)
		for _, r := range full {
			p.tooMany(z, name, r)
		}
	}
	reported, now := z.refused[name], map[dns.Object]string{}
	for _, r := range w.refused {
		if r.Reason != tenancy.Taken {
			continue
		}
		sets := p.Desired.WantOf(name, r.Namespace)
		for _, o := range objectsOf(sets) {
			if now[o] = r.Message; reported[o] != r.Message {
				unreported[o] = append(unreported[o], refusedName{sets[0], r})
			}
		}
	}
	if len(now) == 0 {
		delete(z.refused, name)
		return
	}
	z.refused[name] = now
}

// reportRefusals reports the refused names: one notice per object.
func (p *Publisher) reportRefusals(z *zone, unreported refusals) {
	for o, names := range unreported {
		first := names[0]
		message := fmt.Sprintf("the name %s is refused: %s", first.set.Name, first.refusal.Message)
		if more := len(names) - 1; more > 0 {
			message += fmt.Sprintf("; and %d other names of the object", more)
		}
		if len(unreported) <= maxLogged {
			p.Log.Warn("Refused names", "zone", z.Name, "kind", o.Kind, "namespace", o.Namespace, "name", o.Name, "names", len(names), "err", message)
		}
		p.Notify(Notice{Objects: []dns.Object{o}, Record: first.set, Action: ActionFailed, Reason: string(first.refusal.Reason), Message: message})
	}
	if len(unreported) > maxLogged {
		p.Log.Warn("Refused names of many objects", "zone", z.Name, "objects", len(unreported))
	}
}

// tooMany reports that a namespace has reached its limit: once, until it gets all names that it
// asks for.
func (p *Publisher) tooMany(z *zone, name string, r tenancy.Refusal) {
	message := "the name " + name + " is refused, and so is each further one: " + r.Message
	p.Log.Warn("Refused names, because a namespace has too many", "zone", z.Name, "namespace", r.Namespace, "record", name, "limit", p.MaxNames)
	sets := p.Desired.WantOf(name, r.Namespace)
	if len(sets) > 0 {
		p.Notify(Notice{Objects: objectsOf(sets)[:1], Record: sets[0], Action: ActionFailed, Reason: string(r.Reason), Message: message})
	}
}

// readmit plans the names again for which their namespaces have room now.
func (p *Publisher) readmit(z *zone) {
	if !p.limitsNames() {
		return
	}
	for _, name := range z.shares.admit(func(namespace string) int { return z.mirror.namesByHolder[tenant(namespace)] }) {
		p.touchName(name)
	}
}

// refusedSets splits the record sets of an object into the granted ones and the refused ones with
// their reasons. Without zones nothing is known.
func (p *Publisher) refusedSets(origin desired.Origin, kept []*dns.RecordSet) (granted []*dns.RecordSet, dropped []desired.Drop) {
	if p.zones == nil || p.NamePolicy != tenancy.Namespaced && p.MaxNames == 0 {
		return kept, nil
	}
	for _, r := range kept {
		refusal, refused := p.refusalOf(dns.Canonical(r.Name), origin.Namespace)
		if !refused {
			granted = append(granted, r)
			continue
		}
		dropped = append(dropped, desired.Drop{
			Name: r.Name, Type: r.Type, SetIdentifier: r.SetIdentifier, Targets: r.Targets, Reason: desired.DropReason(refusal.Reason),
			Setting: settingOf(refusal.Reason), Message: refusal.Message,
		})
	}
	return granted, dropped
}

// mayRefuse reports whether a name may be refused to some of those that ask for it.
func (p *Publisher) mayRefuse(name string) bool {
	return (p.NamePolicy == tenancy.Namespaced || p.MaxNames > 0) && len(p.Desired.Namespaces(name)) > 1
}

// refusalOf returns why a namespace doesn't get a name in a zone that holds it.
func (p *Publisher) refusalOf(name, namespace string) (tenancy.Refusal, bool) {
	for _, z := range p.zones.zonesFor(name) {
		w := p.want(z, name)
		if i := slices.IndexFunc(w.refused, func(r tenancy.Refusal) bool { return r.Namespace == namespace }); i >= 0 {
			return w.refused[i], true
		}
	}
	return tenancy.Refusal{}, false
}

// settingOf returns the flag behind a refusal.
func settingOf(reason tenancy.Reason) string {
	if reason == tenancy.TooMany {
		return "--max-names-per-namespace"
	}
	return "--name-policy"
}

// impossibles returns the refused record sets of a name, for inspections.
func (p *Publisher) impossibles(name string, w demand) []unsupportedSet {
	left := slices.Clone(w.unsupported)
	for _, r := range w.refused {
		for _, set := range p.Desired.WantOf(name, r.Namespace) {
			left = append(left, unsupportedSet{set, strings.TrimSpace(r.Message)})
		}
	}
	return left
}

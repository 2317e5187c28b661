package desired

import (
	"cmp"
	"errors"
	"net/netip"
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/plan"
)

// transform converts the record sets of one object into those to publish.
type transform struct {
	*settings
	origin   Origin
	problems []dns.Problem
	// notAllowedCount counts the record sets that the namespace of the object may not ask for. They share
	// one problem, so that an object with many names gets one Event.
	notAllowedCount int
	// unresolved are the names of record sets that can't be published, in any order.
	unresolved []unresolved
	// counts are the dropped record sets.
	counts []count
	// drop is called with each [Drop], for [Set.Explain]; otherwise it is nil.
	drop func(Drop)
}

// dropped notes that targets of a record set aren't published.
func (t *transform) dropped(r *dns.RecordSet, targets []string, reason DropReason, setting, message string) {
	if t.drop != nil {
		t.drop(Drop{Name: r.Name, Type: r.Type, SetIdentifier: r.SetIdentifier, Targets: targets, Reason: reason, Setting: setting, Message: message})
	}
}

// run returns the records to publish for an object, in the order of spec/dns.md §6.13. Want applies
// the minimum TTL.
func (t *transform) run(requested []*dns.RecordSet) records {
	// Record sets that the namespace may not ask for are dropped first, because they must not make a
	// name unresolved.
	sets := slices.DeleteFunc(t.defaultTargets(normal(requested)), t.notAllowed)
	sets = t.deduplicated(t.valid(sets))
	sets = t.filtered(t.withIPv4(sets))
	sets = slices.DeleteFunc(sets, t.refused)
	for _, property := range t.OneName {
		t.oneName(sets, property)
	}
	var kept records
	for _, r := range sets {
		r = t.finished(r)
		kept = append(kept, t.pointers(r)...)
		kept = append(kept, newRecord(t.withProperties(r)))
	}
	slices.SortStableFunc(kept, func(a, b record) int { return cmp.Compare(a.Name, b.Name) })
	return slices.Clip(kept)
}

func normal(requested []*dns.RecordSet) []*dns.RecordSet {
	sets := make([]*dns.RecordSet, 0, len(requested))
	for _, r := range requested {
		if r != nil {
			sets = append(sets, r.Normal())
		}
	}
	return sets
}

// defaultTargets replaces the record sets without targets, or all of them with ForceDefaultTargets.
func (t *transform) defaultTargets(sets []*dns.RecordSet) []*dns.RecordSet {
	if len(t.DefaultTargets) == 0 {
		return sets
	}
	var replaced []*dns.RecordSet
	for _, r := range sets {
		if r.Invalid || len(r.Targets) > 0 && !t.ForceDefaultTargets {
			replaced = append(replaced, r)
			continue
		}
		if len(r.Targets) > 0 {
			t.dropped(r, r.Targets, DropReplaced, "--force-default-targets", "--force-default-targets replaces these targets by those of --default-targets: set the flag to false to keep these")
		}
		replaced = append(replaced, r.PerType(t.DefaultTargets)...)
	}
	return replaced
}

// valid returns the record sets that can be published, with sorted targets.
func (t *transform) valid(sets []*dns.RecordSet) []*dns.RecordSet {
	kept := sets[:0]
	for _, r := range sets {
		if r.Invalid {
			t.dropped(r, r.Targets, DropInvalid, "", "the object asks for it in a way that can't be published: see its problems")
			t.unresolve(r)
			continue
		}
		if err := r.CheckWith(t.NameCharacters); err != nil {
			t.dropped(r, r.Targets, DropInvalid, "", err.Error())
			t.unresolve(r)
			t.invalid(r, err)
			continue
		}
		if targets := dns.UniqueSorted(r.Targets); len(targets) != len(r.Targets) || &targets[0] != &r.Targets[0] {
			sorted := *r
			sorted.Targets = targets
			r = &sorted
		}
		kept = append(kept, r)
	}
	for i, r := range kept {
		kept[i] = t.oneTarget(r, kept)
	}
	return kept
}

// oneTarget keeps only the least target of a record set whose type allows one. There may be more
// because a load balancer has several hostnames. If the object also has an address for the name,
// that isn't reported, because the CNAME isn't published at all.
func (t *transform) oneTarget(r *dns.RecordSet, all []*dns.RecordSet) *dns.RecordSet {
	if r.Type != dns.TypeCNAME && r.Type != dns.TypeDNAME || len(r.Targets) < 2 {
		return r
	}
	one := *r
	one.Targets = r.Targets[:1:1]
	const reason = "the record can have one target only, and the first one in the order of the alphabet is published: give one target"
	t.dropped(r, r.Targets[1:], DropInvalid, "", reason)
	if !slices.ContainsFunc(all, func(o *dns.RecordSet) bool { return o.Name == r.Name && o.Type != r.Type && r.Type == dns.TypeCNAME }) {
		t.problems = append(t.problems, dns.Problem{
			Object: t.object(r), Subject: "targets of the " + r.Type + " record set " + r.Name, Value: strings.Join(r.Targets, ","), Reason: reason,
		})
	}
	return &one
}

func (t *transform) invalid(r *dns.RecordSet, err error) {
	p := dns.Problem{Object: t.object(r), Subject: r.Type + " record set " + r.Name, Reason: err.Error()}
	if detail := (*dns.InvalidError)(nil); errors.As(err, &detail) {
		p.Subject = detail.Subject + " of the " + r.Type + " record set " + r.Name
		p.Value, p.Reason = detail.Value, detail.Reason
	}
	t.problems = append(t.problems, p)
}

// refused reports, with a problem, whether the registry can't own a record set.
func (t *transform) refused(r *dns.RecordSet) bool {
	if t.Refuse == nil {
		return false
	}
	err := t.Refuse(r)
	if err != nil {
		t.dropped(r, r.Targets, DropRefused, "--registry", "the registry can't own it: "+err.Error())
		t.unresolve(r)
		t.invalid(r, err)
	}
	return err != nil
}

func (t *transform) object(r *dns.RecordSet) dns.Object {
	if len(r.Objects) > 0 {
		return r.Objects[0]
	}
	return dns.Object{Source: t.origin.Source, Namespace: t.origin.Namespace, Name: t.origin.Name}
}

// deduplicated drops the record sets that are equal to an earlier one.
func (t *transform) deduplicated(sets []*dns.RecordSet) []*dns.RecordSet {
	candidates := make([]plan.Candidate, len(sets))
	for i, r := range sets {
		candidates[i].Set = r
	}
	kept, dropped := withoutEqual(candidates, nil)
	for _, r := range dropped {
		t.dropped(r, r.Targets, DropDuplicate, "", "the object asks for the same twice")
		t.counts = addCount(t.counts, count{Kind: kindOf(r), outcome: duplicate, n: 1})
	}
	return plan.Sets(kept)
}

// nat64Bits is the prefix length of a network whose addresses end with an IPv4 address (RFC 6052,
// 2.2).
const nat64Bits = 96

// withIPv4 adds A record sets for the AAAA targets that contain IPv4 addresses.
func (t *transform) withIPv4(sets []*dns.RecordSet) []*dns.RecordSet {
	for _, r := range sets {
		if len(t.nat64) == 0 || r.Type != dns.TypeAAAA {
			continue
		}
		var targets []string
		for _, target := range r.Targets {
			if addr, ok := t.embedded(target); ok {
				targets = append(targets, addr.String())
			}
		}
		if len(targets) > 0 {
			a := *r
			a.Type, a.Targets = dns.TypeA, dns.UniqueSorted(targets)
			sets = append(sets, &a)
		}
	}
	return sets
}

// embedded returns the IPv4 address that a target contains.
func (t *transform) embedded(target string) (netip.Addr, bool) {
	addr, err := netip.ParseAddr(target)
	if err != nil || !slices.ContainsFunc(t.nat64, func(p netip.Prefix) bool { return p.Contains(addr) }) {
		// An alias may have a name as its target.
		return netip.Addr{}, false
	}
	octets := addr.As16()
	return netip.AddrFrom4([4]byte(octets[nat64Bits/8:])), true
}

// filtered drops the targets that the filter excludes, and record sets without targets left.
func (t *transform) filtered(sets []*dns.RecordSet) []*dns.RecordSet {
	kept := sets[:0]
	for _, r := range sets {
		targets := t.Targets.Keep(r.Targets)
		if t.drop != nil {
			t.droppedTargets(r)
		}
		if len(targets) == 0 {
			continue
		}
		if len(targets) < len(r.Targets) {
			fewer := *r
			fewer.Targets = targets
			r = &fewer
		}
		kept = append(kept, r)
	}
	return kept
}

// finished returns a record set with its TTL within the limits, and with its label.
func (t *transform) finished(r *dns.RecordSet) *dns.RecordSet {
	ttl, limited := t.limitedTTL(r), t.labelled(r)
	if ttl == r.TTL && limited == nil {
		return r
	}
	done := *r
	done.TTL = ttl
	if limited != nil {
		done.Labels = limited
	}
	return &done
}

// withProperties returns a record set with the properties that the provider reads.
func (t *transform) withProperties(r *dns.RecordSet) *dns.RecordSet {
	done := *r
	done.DeleteProperty(dns.PropertyRecordType)
	if _, said := done.Property(dns.PropertyAlias); t.PreferAlias && !said && done.Type == dns.TypeCNAME {
		done.SetProperty(dns.PropertyAlias, string(dns.AliasTrue))
	}
	done.Properties = dns.RetainProperties(done.Properties, t.Properties)
	return &done
}

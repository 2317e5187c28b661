package desired

import (
	"slices"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/tenancy"
)

// DropReason says why a part of what an object asks for is not published.
type DropReason string

const (
	// DropInvalid: the record set is invalid in DNS. A problem of the object says more.
	DropInvalid DropReason = "Invalid"
	// DropRefused: the registry can't own the record set.
	DropRefused DropReason = "Refused"
	// DropDuplicate: the object asks for the same record set twice, so nothing is lost.
	DropDuplicate DropReason = "Duplicate"
	// DropReplaced: other targets replace these.
	DropReplaced DropReason = "Replaced"
	// DropTarget: the target filter excludes the target.
	DropTarget DropReason = "TargetFiltered"
	// DropType: the record type is not managed.
	DropType DropReason = "TypeNotManaged"
	// DropDomain: the domain filter excludes the name.
	DropDomain DropReason = "NameFiltered"
	// DropNotAllowed: the name is in no domain of the namespace.
	DropNotAllowed DropReason = DropReason(tenancy.NotAllowed)
	// DropTaken: another namespace has the name.
	DropTaken DropReason = DropReason(tenancy.Taken)
	// DropTooMany: the namespace has reached its limit of names.
	DropTooMany DropReason = DropReason(tenancy.TooMany)
	// DropZone: no zone of the provider holds the name.
	DropZone DropReason = "NoZone"
	// DropUnselected: the provider's filter excludes the name from the zone that would hold it.
	DropUnselected DropReason = "ZoneNotSelected"
)

// Drop is a part of what an object asks for that is not published, and why.
type Drop struct {
	Name, Type, SetIdentifier string
	// Targets are the dropped targets. The record set is not published, unless other targets of it are
	// kept.
	Targets []string
	Reason  DropReason
	// Setting is the flag behind the decision; empty if there is none.
	Setting string
	// Message says what is wrong and what to do, without a capital letter and a full stop.
	Message string
}

// Scope selects the record sets that a publisher writes.
type Scope struct {
	// Managed are the managed types, without those in Excluded.
	Managed, Excluded []string
	// Domains selects the managed names; nil means all.
	Domains dns.Filter
	// HasZone reports whether a canonical name is in a zone. Nil means that the zones are unknown.
	HasZone func(name string) bool
	// Unselected reports whether the provider's filter excludes a canonical name. Nil excludes none.
	Unselected func(name string) bool
}

// Explain returns the record sets of an object that are kept, and the parts that are dropped before
// planning. Each target that the object asks for is either in a kept record set or dropped. Default
// targets and derived addresses are kept too. PTR record sets for addresses are dropped or not
// mentioned. If the object asks for several CNAMEs of one name, all are kept here, although merging
// publishes only one. Explain changes nothing. Conflicts with other owners are up to the plan.
func (s *Set) Explain(origin Origin, requested []*dns.RecordSet, scope Scope) (kept []*dns.RecordSet, dropped []Drop) {
	settings := s.settings
	settings.ptr = true // scope says whether PTR is managed.
	t := transform{settings: &settings, origin: origin, drop: func(d Drop) { dropped = append(dropped, d) }}
	for _, r := range t.run(requested) {
		set := r.set()
		if d := scope.drops(set); d.Reason != "" {
			t.dropped(set, set.Targets, d.Reason, d.Setting, d.Message)
			continue
		}
		if !r.derived {
			kept = append(kept, set)
		}
	}
	return kept, dropped
}

// drops returns why a record set isn't written; without a reason if it is.
func (p *Scope) drops(r *dns.RecordSet) Drop {
	switch {
	case slices.Contains(p.Excluded, r.Type):
		return Drop{Reason: DropType, Setting: "--exclude-record-types", Message: "--exclude-record-types has the type " + r.Type + ": remove it there"}
	case !slices.Contains(p.Managed, r.Type):
		return Drop{Reason: DropType, Setting: "--managed-record-types", Message: "--managed-record-types does not have the type " + r.Type + ": add it there, with all others that you want"}
	case p.Domains != nil && !p.Domains.Match(r.Name):
		setting := p.domainSetting(r.Name)
		return Drop{Reason: DropDomain, Setting: setting, Message: setting + " leaves out the name: change the flag, or correct the name"}
	case p.HasZone != nil && !p.HasZone(dns.Canonical(r.Name)):
		return Drop{Reason: DropZone, Message: "the name is in no zone of the provider: create the zone, or change the zone filters"}
	case p.Unselected != nil && p.Unselected(dns.Canonical(r.Name)):
		return Drop{Reason: DropUnselected, Message: Unselected}
	}
	return Drop{}
}

// Unselected says why a name isn't published to a zone that would hold it.
const Unselected = "the name belongs to a zone of the provider that isn't selected, or the domain filter of the provider leaves it out, " +
	"so no zone above gets it: select that zone with the zone filters, or ask for another name"

// domainSetting returns the flag that excludes a name.
func (p *Scope) domainSetting(name string) string {
	if f, ok := p.Domains.(interface{ Rejecter(string) string }); ok {
		return f.Rejecter(name)
	}
	return "--domain-filter"
}

// droppedTargets notes the targets of a record set that the filter excludes.
func (t *transform) droppedTargets(r *dns.RecordSet) {
	var flags []string
	by := map[string][]string{}
	for _, target := range r.Targets {
		flag := t.Targets.Rejecter(target)
		if flag == "" {
			continue
		}
		if by[flag] == nil {
			flags = append(flags, flag)
		}
		by[flag] = append(by[flag], target)
	}
	for _, flag := range flags {
		message := flag + " has no network of the target: add one there"
		if flag == "--exclude-target-net" {
			message = flag + " has a network of the target: remove it there"
		}
		t.dropped(r, by[flag], DropTarget, flag, message)
	}
}

// DefaultsTargets reports whether record sets without targets get default targets.
func (s *Set) DefaultsTargets() bool { return len(s.settings.DefaultTargets) > 0 }

// Current reports whether Put with the same arguments would change nothing.
func (s *Set) Current(origin Origin, requested []*dns.RecordSet) bool {
	t := transform{settings: &s.settings, origin: origin, drop: func(Drop) {}}
	now := t.run(requested)
	var have records
	if a := s.origins[origin]; a != nil {
		have = a.records
	}
	return slices.EqualFunc(have, now, sameRecord)
}

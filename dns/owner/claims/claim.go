package claims

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/signpostd/signpost/dns"
)

// State is the certainty of a claim.
type State int

const (
	// Intended: the record set is ours only if it has targets that we wrote or were going to write.
	Intended State = iota
	// Confirmed: the record set was created, so it is ours even if it was edited since.
	Confirmed
	// Refuted: the record set wasn't created. If one exists, it isn't ours.
	Refuted
)

// Progress is the state of the last change of a record set.
type Progress int

const (
	// Underway: the provider is being called.
	Underway Progress = iota
	// Done: the provider has made the change.
	Done
	// Failed: the provider hasn't made the change, or the outcome is unknown.
	Failed
)

// Print is a fingerprint of the targets of a record set, of fixed length.
type Print string

// PrintOf returns the print of the targets of a record set. It doesn't depend on their order, on
// the spelling of addresses, or on case except in texts.
func PrintOf(r *dns.RecordSet) Print {
	targets := slices.Clone(r.Targets)
	for i, t := range targets {
		if r.Type != dns.TypeTXT {
			targets[i] = dns.TargetKey(t)
		}
	}
	slices.Sort(targets)
	hash := sha256.New()
	for _, t := range targets {
		// A hash never fails. Targets contain no zero bytes.
		_, _ = io.WriteString(hash, t+"\x00")
	}
	const enough = 16
	return Print(hex.EncodeToString(hash.Sum(nil)[:enough]))
}

// printsOf returns the prints of a record set that a change may leave in the zone. If the provider
// writes by target, these are the prints of each target and of all.
func printsOf(r *dns.RecordSet, byTarget bool) []Print {
	var prints []Print
	if byTarget && len(r.Targets) > 1 && len(r.Targets) <= maxTargets {
		prints = targetPrints(r)
	}
	return append(prints, PrintOf(r))
}

func targetPrints(r *dns.RecordSet) []Print {
	prints := make([]Print, len(r.Targets))
	for i, t := range r.Targets {
		prints[i] = PrintOf(&dns.RecordSet{Type: r.Type, Targets: []string{t}})
	}
	return prints
}

// Claim is the ownership of a record set that is, or may be, ours.
type Claim struct {
	Key dns.Key
	// Set is the record set as written last, or as intended. It is nil if the store doesn't keep it.
	Set *dns.RecordSet
	// Labels are those of the record set, with its owner.
	Labels map[string]string
	State  State
	// Prints are those of the targets that the record set may have, if it is intended. If the provider
	// writes by target, they contain the print of each target.
	Prints []Print
	// Seen is the print of the last listed targets, if the claim is confirmed; empty if unknown.
	// Stores need not keep it.
	Seen Print
	// Problem is the error of the last change.
	Progress Progress
	Problem  string
	// Handle is how the store finds the claim again. Only the store sets it.
	Handle any

	// earlier is the former Seen, because the listing that changed it may have been late.
	earlier Print
	// missed is the number of listings in a row without the record set.
	missed int
}

// maxPrints limits the prints of whole record sets that a claim keeps, after changes with an unknown
// outcome. Each is followed by a listing, so more than one is rare.
const maxPrints = 4

// maxTargets is how many targets a record set may have for a claim to keep the print of each. A
// claim keeps at most those of maxPrints such record sets, for which an annotation has room.
const maxTargets = 500

// collectedAfter is how many listings in a row must miss the record set of a claim before it is
// removed. One isn't enough, because some providers list changes late.
const collectedAfter = 2

// missing is the problem of claims whose record sets aren't in the zone.
const missing = "the zone doesn't have the record"

// Owner returns the owner of the record set.
func (c *Claim) Owner() string {
	if c == nil {
		return ""
	}
	return c.Labels[dns.LabelOwner]
}

// Owns reports whether a listed record set is that of the claim.
func (c *Claim) Owns(r *dns.RecordSet) bool {
	switch {
	case c == nil || c.State == Refuted:
		return false
	case c.State == Confirmed:
		return true
	default:
		return slices.Contains(c.Prints, PrintOf(r))
	}
}

// OwnsPart is Owns for a provider that writes by target: an intended record set may have any of the
// targets that we wrote or were going to write, but no other.
func (c *Claim) OwnsPart(r *dns.RecordSet) bool {
	return c.Owns(r) || c != nil && c.State == Intended && len(r.Targets) > 0 && sets.New(c.Prints...).HasAll(targetPrints(r)...)
}

// candidates returns the prints that the record set may have.
func (c *Claim) candidates() []Print {
	switch {
	case c == nil || c.State == Refuted:
		return nil
	case c.State == Intended:
		return c.Prints
	default:
		return slices.DeleteFunc([]Print{c.earlier, c.Seen}, func(p Print) bool { return p == "" })
	}
}

// remembering returns a claim that was read, with the targets known from before if the store
// doesn't keep them.
func (c *Claim) remembering(before *Claim) *Claim {
	if c == nil || c.State != Confirmed || c.Seen != "" {
		return c
	}
	next := *c
	for _, p := range before.candidates() {
		next.see(p)
	}
	return &next
}

// intend returns the claim of a record set that is about to be created or updated, or whose labels
// change. An updated record set is ours already.
func (c *Claim) intend(change dns.Change, labels map[string]string, byTarget bool) *Claim {
	next := &Claim{Key: change.New.Key(), Set: change.New, Labels: labels}
	if change.Old != nil {
		next.State = Confirmed
		if c != nil {
			next.Seen, next.earlier = c.Seen, c.earlier
		}
		next.see(PrintOf(change.Old))
		return next
	}
	next.Prints = withPrints(c.candidates(), printsOf(change.New, byTarget), byTarget)
	return next
}

// confirm returns the claim after its record set was written.
func (c *Claim) confirm(r *dns.RecordSet) *Claim {
	return &Claim{Key: r.Key(), Set: r, Labels: c.Labels, State: Confirmed, Seen: PrintOf(r), Progress: Done}
}

// unconfirm returns the claim after a listing without the record set, or before a creation, which
// implies such a listing. The record set stays ours if it appears again unchanged.
func (c *Claim) unconfirm() *Claim {
	if c == nil || c.State != Confirmed {
		return c
	}
	next := *c
	next.State, next.Prints, next.Progress, next.Problem = Intended, c.candidates(), Failed, missing
	return &next
}

// reconfirm is the inverse of unconfirm.
func (c *Claim) reconfirm() *Claim {
	if c == nil || c.State != Intended {
		return c
	}
	next := *c
	next.State, next.Prints, next.Progress, next.Problem, next.missed = Confirmed, nil, Done, "", 0
	return &next
}

// refute returns the claim after a change that certainly wasn't made. The receiver is the claim
// before the change; labels are those of the claim that was written for it.
func (c *Claim) refute(change dns.Change, labels map[string]string, problem string) *Claim {
	switch {
	case change.New == nil:
		return c
	case c == nil || c.State != Confirmed && len(c.candidates()) == 0:
		return &Claim{Key: change.New.Key(), Set: change.New, Labels: labels, State: Refuted, Progress: Failed, Problem: problem}
	}
	next := *c
	next.Set, next.Progress, next.Problem = change.New, Failed, problem
	return &next
}

// leaveOpen returns the claim after a change with an unknown outcome.
func (c *Claim) leaveOpen(change dns.Change, problem string, byTarget bool) *Claim {
	next := *c
	next.State, next.Prints, next.Progress, next.Problem = Intended, c.candidates(), Failed, problem
	var added []Print
	for _, r := range []*dns.RecordSet{change.Old, change.New} {
		if r != nil {
			added = append(added, printsOf(r, byTarget)...)
		}
	}
	next.Prints = withPrints(next.Prints, added, byTarget)
	return &next
}

// observe returns the claim after a listing. r is the listed record set of the claim, or nil. A nil
// result removes the claim.
func (c *Claim) observe(r *dns.RecordSet) *Claim {
	if r != nil {
		return c.found(r)
	}
	next := *c.unconfirm()
	if next.missed++; next.missed >= collectedAfter {
		return nil
	}
	return &next
}

// found returns the claim after a listing with its record set.
func (c *Claim) found(r *dns.RecordSet) *Claim {
	seen := PrintOf(r)
	switch {
	case c.State == Intended && c.missed > 0:
		// One of the two listings was late, possibly this one.
		next := *c
		next.missed = 0
		return &next
	case c.State == Intended:
		return c.confirm(r)
	case c.Seen == seen && c.missed == 0:
		return c
	}
	next := *c
	next.see(seen)
	next.missed = 0
	return &next
}

// see notes the current targets of the record set.
func (c *Claim) see(p Print) {
	if c.Seen != p {
		c.Seen, c.earlier = p, c.Seen
	}
}

// same reports whether two claims are equal in what stores keep; nil means none.
func (c *Claim) same(other *Claim) bool {
	if c == nil || other == nil {
		return c == other
	}
	return c.State == other.State && slices.Equal(c.Prints, other.Prints) && maps.Equal(c.Labels, other.Labels) &&
		c.Progress == other.Progress && c.Problem == other.Problem && c.Handle == other.Handle && sameSet(c.Set, other.Set)
}

func sameSet(a, b *dns.RecordSet) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.TTL == b.TTL && slices.Equal(a.Targets, b.Targets) && dns.SameProperties(a.Properties, b.Properties)
}

// withPrints appends the prints of a change, and drops the first ones if there are too many.
func withPrints(prints, added []Print, byTarget bool) []Print {
	most := maxPrints
	if byTarget {
		most *= maxTargets + 1
	}
	all := slices.Clip(prints)
	for _, p := range added {
		if !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all[max(0, len(all)-most):]
}

// sameDecision reports whether two claims decide the same for all record sets; nil means none.
func (c *Claim) sameDecision(other *Claim) bool {
	if c == nil || other == nil {
		return c == other
	}
	return c.State == other.State && slices.Equal(c.Prints, other.Prints) && maps.Equal(c.Labels, other.Labels)
}

package budget

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/signpostd/signpost/dns"
)

// Kind says which limit a change counts against.
type Kind int

const (
	// Deletion is a deleted record set without a replacement.
	Deletion Kind = iota
	// SettingsUpdate is an update that removes targets, in the first plan of a zone after a change of
	// the settings.
	SettingsUpdate
	// ObjectUpdate is any other update that removes targets.
	ObjectUpdate

	kinds = 3
)

// digest identifies a change by two SHA-256 prefixes: of the record set's key, and of the whole
// change with its old and new targets.
type digest struct{ key, change uint64 }

func digestOf(c dns.Change) digest {
	key := c.RecordSet().Key()
	return digest{hashOf(fmt.Sprintf("%q %q %q", key.Name, key.Type, key.SetIdentifier)), hashOf(line(c))}
}

func hashOf(text string) uint64 {
	sum := sha256.Sum256([]byte(text))
	return binary.BigEndian.Uint64(sum[:8])
}

// anyChange returns the digest that stands for any change of the record set of d.
func (d digest) anyChange() digest { return digest{key: d.key} }

func (d digest) compare(other digest) int {
	return cmp.Or(cmp.Compare(d.key, other.key), cmp.Compare(d.change, other.change))
}

// line describes a change unambiguously, including old and new targets, because users approve what
// they have seen. The order of targets doesn't matter.
func line(c dns.Change) string {
	key := c.RecordSet().Key()
	if c.New == nil {
		return fmt.Sprintf("delete %q %q %q %q\n", key.Name, key.Type, key.SetIdentifier, canonicalTargets(c.Old))
	}
	return fmt.Sprintf("update %q %q %q %q %q\n", key.Name, key.Type, key.SetIdentifier, canonicalTargets(c.Old), canonicalTargets(c.New))
}

// canonicalTargets returns targets in a form that is the same for equal record sets.
func canonicalTargets(r *dns.RecordSet) []string {
	var targets []string
	if r != nil {
		for _, t := range r.Targets {
			targets = append(targets, dns.TargetKey(t))
		}
	}
	slices.Sort(targets)
	return targets
}

// removesTargets reports whether a change is an update that removes a target. It is false for
// updates that only add targets, or change the TTL or properties.
func removesTargets(c dns.Change) bool {
	return c.Old != nil && c.New != nil && dns.NewTargetSet(c.New.Targets).Count(c.Old.Targets) < len(c.Old.Targets)
}

// Losses returns the deletions of one name without a replacement. A deletion is replaced if a
// record set with its set identifier, of any type, is created. A record set without a set
// identifier also replaces those with one, and vice versa.
func Losses(changes []dns.Change) []dns.Change {
	if !slices.ContainsFunc(changes, func(c dns.Change) bool { return c.New == nil }) {
		return nil
	}
	deleted, created := map[string]bool{}, map[string]bool{}
	for _, c := range changes {
		switch {
		case c.Old == nil:
			created[c.New.SetIdentifier] = true
		case c.New == nil:
			deleted[c.Old.SetIdentifier] = true
		}
	}
	replaced := map[string]bool{}
	var gone, come []string
	for id := range deleted {
		if replaced[id] = created[id]; !created[id] {
			gone = append(gone, id)
		}
	}
	for id := range created {
		if !deleted[id] {
			come = append(come, id)
		}
	}
	slices.Sort(gone)
	slices.Sort(come)
	switch plainGoes, plainComes := slices.Contains(gone, ""), slices.Contains(come, ""); {
	case plainGoes && len(come) > 0:
		replaced[""] = true
	case plainComes && len(gone) > 0:
		replaced[gone[0]] = true
	}
	var lost []dns.Change
	for _, c := range changes {
		if c.New == nil && !replaced[c.Old.SetIdentifier] {
			lost = append(lost, c)
		}
	}
	return lost
}

// Without returns the changes of one name that can be made while some of its deletions and updates
// wait. If a new record set can't stand beside one whose deletion waits, only updates can be made:
// servers refuse the creation, and a deletion without its replacement would leave a gap.
func Without(changes, waiting []dns.Change) []dns.Change {
	keys := map[dns.Key]bool{}
	for _, w := range waiting {
		keys[w.RecordSet().Key()] = true
	}
	blocked := slices.ContainsFunc(changes, func(c dns.Change) bool {
		return c.Old == nil && slices.ContainsFunc(waiting, func(w dns.Change) bool { return w.New == nil && collides(c.New, w.Old) })
	})
	var left []dns.Change
	for _, c := range changes {
		waits := c.Old != nil && keys[c.RecordSet().Key()]
		if !waits && (!blocked || c.Old != nil && c.New != nil) {
			left = append(left, c)
		}
	}
	return left
}

// collides reports whether a new record set can't coexist with one whose deletion waits.
func collides(created, kept *dns.RecordSet) bool {
	return created.Type == dns.TypeCNAME || kept.Type == dns.TypeCNAME || (created.SetIdentifier == "") != (kept.SetIdentifier == "")
}

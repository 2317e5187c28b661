package budget

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns"
)

// Kind says which limit a change counts against.
type Kind int

const (
	// Deletion is a record set that is deleted and not replaced.
	Deletion Kind = iota
	// SettingsUpdate is an update that takes targets away, planned when this process saw a zone
	// for the first time with new settings.
	SettingsUpdate
	// ObjectUpdate is any other update that takes targets away.
	ObjectUpdate

	kinds = 3
)

// digest identifies a change: what it does to which record set. It is part of a hash that can't
// be turned around.
type digest uint64

func digestOf(c dns.Change) digest {
	sum := sha256.Sum256([]byte(line(c)))
	return digest(binary.BigEndian.Uint64(sum[:8]))
}

// line describes a change unambiguously. The order of targets doesn't matter.
func line(c dns.Change) string {
	key := c.RecordSet().Key()
	if c.New == nil {
		return fmt.Sprintf("delete %q %q %q\n", key.Name, key.Type, key.SetIdentifier)
	}
	var targets []string
	for _, t := range c.New.Targets {
		targets = append(targets, canonicalTarget(t))
	}
	slices.Sort(targets)
	return fmt.Sprintf("update %q %q %q %q\n", key.Name, key.Type, key.SetIdentifier, targets)
}

// canonicalTarget is the same for targets that are equal ([dns.SameTargets]).
func canonicalTarget(t string) string {
	if address, err := netip.ParseAddr(t); err == nil {
		return address.String()
	}
	return strings.ToLower(t)
}

// takesTargets reports whether a change is an update after which a target is gone. One that only
// adds targets, or changes the TTL or properties, isn't counted.
func takesTargets(c dns.Change) bool {
	if c.Old == nil || c.New == nil || dns.SameTargets(c.Old.Targets, c.New.Targets) {
		return false
	}
	left := map[string]bool{}
	for _, t := range c.New.Targets {
		left[canonicalTarget(t)] = true
	}
	return slices.ContainsFunc(c.Old.Targets, func(t string) bool { return !left[canonicalTarget(t)] })
}

// Losses returns the deletions among the changes of one name that nothing replaces. A record set
// is replaced when one with its set identifier is created, whatever its type. A record set
// without an identifier also takes the place of those with one identifier, and the reverse.
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

// collides reports whether a record set that is created can't stand beside one that is kept
// because its deletion is held.
func collides(created, kept *dns.RecordSet) bool {
	return created.Type == dns.TypeCNAME || kept.Type == dns.TypeCNAME || (created.SetIdentifier == "") != (kept.SetIdentifier == "")
}

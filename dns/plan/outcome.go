package plan

import (
	"cmp"
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns"
)

// Outcome is the result of [Name].
type Outcome struct {
	// Changes are in the order in which they have to be made.
	Changes []dns.Change
	// Conflicts are the wanted record sets that are impossible.
	Conflicts []Conflict
	// Lost are the candidates that lose to others.
	Lost []Loss
	// Refused are the candidates that would win if the provider didn't refuse them. The record sets
	// that they would replace stay.
	Refused []Candidate
}

// Obstacle says why a record set of the zone blocks another one.
type Obstacle string

const (
	// NotOwned: the record set belongs to another or unknown owner.
	NotOwned Obstacle = "not owned"
	// NotDeletable: the record set is ours and excludes the other one, but the policy forbids its
	// deletion.
	NotDeletable Obstacle = "not deletable under the policy"
	// ReplacementRefused: the record set is ours and excludes the other one, but it stays because the
	// provider refuses what its object asks for.
	ReplacementRefused Obstacle = "kept because its replacement is refused"
)

// Conflict says that a record set can't be created or updated because of another one in the zone.
// There is one conflict for each blocking record set.
type Conflict struct {
	Wanted *dns.RecordSet
	// Current is the blocking record set. It has the key of Wanted if Wanted would replace it.
	Current  *dns.RecordSet
	Obstacle Obstacle
}

// OtherOwner returns the owner of the blocking record set, or "" if it has none.
func (c Conflict) OtherOwner() string { return c.Current.Labels[dns.LabelOwner] }

func sortChanges(changes []dns.Change) {
	slices.SortFunc(changes, func(a, b dns.Change) int { return compareKeys(a.RecordSet(), b.RecordSet()) })
}

func sortConflicts(conflicts []Conflict) {
	slices.SortFunc(conflicts, func(a, b Conflict) int {
		return cmp.Or(compareKeys(a.Wanted, b.Wanted), compareKeys(a.Current, b.Current))
	})
}

// compareKeys orders record sets of one name by their keys.
func compareKeys(a, b *dns.RecordSet) int {
	return cmp.Or(strings.Compare(a.Type, b.Type), strings.Compare(a.SetIdentifier, b.SetIdentifier))
}

// sameKey compares the keys of two record sets of one name.
func sameKey(a, b *dns.RecordSet) bool {
	return a.Type == b.Type && a.SetIdentifier == b.SetIdentifier
}

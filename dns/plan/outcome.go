package plan

import (
	"cmp"
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns"
)

// Outcome is what was decided.
type Outcome struct {
	// Changes are in the order in which they have to be made.
	Changes []dns.Change
	// Conflicts are record sets that are asked for and can't be had.
	Conflicts []Conflict
	// Dropped are the CNAMEs that are asked for beside record sets of other types, which win.
	Dropped []*dns.RecordSet
}

// Obstacle says why a record set is in the way of another.
type Obstacle string

// The obstacles.
const (
	// NotOwned: the record set belongs to somebody else, or to nobody known.
	NotOwned Obstacle = "not owned"
	// NotDeletable: the record set is ours and excludes the other one, but the policy forbids
	// to delete it.
	NotDeletable Obstacle = "not deletable under the policy"
)

// Conflict is a record set that is asked for and can't be had, or not as it is asked for,
// because of one that is there. There is a conflict for each that is in the way.
type Conflict struct {
	Wanted *dns.RecordSet
	// Current is what is in the way. It has the key of Wanted if Wanted would replace it.
	Current  *dns.RecordSet
	Obstacle Obstacle
}

// ForeignOwner returns the owner of what is in the way, empty for nobody.
func (c Conflict) ForeignOwner() string { return c.Current.Labels[dns.LabelOwner] }

func sortChanges(changes []dns.Change) {
	slices.SortFunc(changes, func(a, b dns.Change) int { return compareKeys(a.RecordSet(), b.RecordSet()) })
}

func sortConflicts(conflicts []Conflict) {
	slices.SortFunc(conflicts, func(a, b Conflict) int {
		return cmp.Or(compareKeys(a.Wanted, b.Wanted), compareKeys(a.Current, b.Current))
	})
}

// compareKeys orders record sets of one name.
func compareKeys(a, b *dns.RecordSet) int {
	return cmp.Or(strings.Compare(a.Type, b.Type), strings.Compare(a.SetIdentifier, b.SetIdentifier))
}

// sameKey compares the keys of record sets of one name.
func sameKey(a, b *dns.RecordSet) bool {
	return a.Type == b.Type && a.SetIdentifier == b.SetIdentifier
}

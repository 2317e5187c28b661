package dns

import "fmt"

// ChangeLists are changes in the JSON form of ExternalDNS (spec/dns.md §3.8). UpdateOld and
// UpdateNew have the same length, and entries with the same index belong together. Keys are read
// case-insensitively.
type ChangeLists struct {
	Create    []*RecordSet `json:"create,omitempty"`
	UpdateOld []*RecordSet `json:"updateOld,omitempty"`
	UpdateNew []*RecordSet `json:"updateNew,omitempty"`
	Delete    []*RecordSet `json:"delete,omitempty"`
}

// Lists returns changes as lists, each in the order of the changes.
func Lists(changes []Change) ChangeLists {
	var l ChangeLists
	for _, c := range changes {
		switch {
		case c.Old != nil && c.New != nil:
			l.UpdateOld = append(l.UpdateOld, c.Old)
			l.UpdateNew = append(l.UpdateNew, c.New)
		case c.New != nil:
			l.Create = append(l.Create, c.New)
		case c.Old != nil:
			l.Delete = append(l.Delete, c.Old)
		}
	}
	return l
}

// Changes returns the changes of the lists in an order in which they can be made: deletions,
// updates, creations. It fails if the lists of updates have different lengths, or if a record set
// is null.
func (l ChangeLists) Changes() ([]Change, error) {
	if len(l.UpdateOld) != len(l.UpdateNew) {
		return nil, fmt.Errorf("read changes: updateOld has %d record sets and updateNew has %d: send lists of the same length",
			len(l.UpdateOld), len(l.UpdateNew))
	}
	changes := make([]Change, 0, len(l.Delete)+len(l.UpdateOld)+len(l.Create))
	for i, r := range l.Delete {
		if r == nil {
			return nil, nullRecordSet("delete", i)
		}
		changes = append(changes, Change{Old: r})
	}
	for i, r := range l.UpdateOld {
		if r == nil || l.UpdateNew[i] == nil {
			return nil, nullRecordSet("updateOld or updateNew", i)
		}
		changes = append(changes, Change{Old: r, New: l.UpdateNew[i]})
	}
	for i, r := range l.Create {
		if r == nil {
			return nil, nullRecordSet("create", i)
		}
		changes = append(changes, Change{New: r})
	}
	return changes, nil
}

func nullRecordSet(list string, i int) error {
	return fmt.Errorf("read changes: record set %d of %s is null", i, list)
}

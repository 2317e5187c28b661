package cloudflare

import (
	"slices"
	"time"

	"github.com/signpostd/signpost/dns/provider/batch"
)

// recent are the recently written records by ID. A listing may still show their old state.
type recent = batch.Recent[string, record]

// note remembers the operations of units that were made. made is the response of Cloudflare.
func (z *managedZone) note(units []*unit, made operations[record], at time.Time) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.recent.Expire(at)
	for _, u := range units {
		for _, c := range u.Changes {
			z.creations.note(c)
		}
		changed := map[string]*record{}
		for _, o := range u.operations.Patches {
			changed[o.ID] = new(o.arrived())
		}
		for _, r := range u.before {
			z.recent.Note(r.ID, &r, changed[r.ID], at)
		}
	}
	for _, r := range made.Posts {
		if r = r.normal(); r.ID != "" {
			z.recent.Note(r.ID, nil, &r, at)
		}
	}
}

// forget drops the recent writes of a unit, after an external change of its records.
func (z *managedZone) forget(u *unit) {
	z.mu.Lock()
	defer z.mu.Unlock()
	names := u.names()
	z.recent.Forget(func(r *record) bool { return slices.Contains(names, r.Name) })
}

// correct replaces the old states in a listing. names are those of the listing; nil means all.
func (z *managedZone) correct(rows []record, names map[string]bool) []record {
	if len(z.recent) == 0 {
		return rows
	}
	shown := map[string]bool{}
	var list []record
	for _, row := range rows {
		shown[row.ID] = true
		if now := z.recent.Current(row.ID, &row, sameRecord); now != nil {
			list = append(list, *now)
		}
	}
	for id := range z.recent {
		// A missing record was deleted by another writer, unless we have just created it.
		if now := z.recent.Current(id, nil, sameRecord); !shown[id] && now != nil && (names == nil || names[now.Name]) {
			list = append(list, *now)
		}
	}
	return list
}

// sameRecord reports whether two states of a record are equal; nil means none.
func sameRecord(a, b *record) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.same(*b)
}

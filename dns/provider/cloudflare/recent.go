package cloudflare

import "time"

// lag is how long a listing may lag behind a change.
const lag = 10 * time.Second

// recent are the recently written records by ID. A listing may still show their old state.
type recent map[string]*recentWrite

// recentWrite is a recently written record. before has its old states, the oldest first. now is nil after a
// deletion.
type recentWrite struct {
	before []record
	now    *record
	at     time.Time
	// created is the time of its creation while a listing may still lack it.
	created time.Time
}

// note remembers the operations of units that were made. made is the response of Cloudflare.
func (z *managedZone) note(units []*unit, made operations[record], at time.Time) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.recent.expire(at)
	for _, u := range units {
		for _, c := range u.Changes {
			z.creations.note(c)
		}
		changed := map[string]record{}
		for _, o := range u.operations.Patches {
			changed[o.ID] = o.arrived()
		}
		for _, r := range u.before {
			if now, patched := changed[r.ID]; patched {
				z.recent.note(r, &now, at)
			} else {
				z.recent.note(r, nil, at)
			}
		}
	}
	for _, r := range made.Posts {
		if r = r.normal(); r.ID != "" {
			z.recent[r.ID] = &recentWrite{now: &r, at: at, created: at}
		}
	}
}

func (r recent) note(before record, now *record, at time.Time) {
	w := r[before.ID]
	if w == nil {
		w = &recentWrite{}
		r[before.ID] = w
	}
	w.before, w.now, w.at = append(w.before, before), now, at
}

// forget drops the recent writes of a unit, after an external change of its records.
func (z *managedZone) forget(u *unit) {
	z.mu.Lock()
	defer z.mu.Unlock()
	names := map[string]bool{}
	for _, name := range u.names() {
		names[name] = true
	}
	for id, w := range z.recent {
		if names[w.name()] {
			delete(z.recent, id)
		}
	}
}

func (w *recentWrite) name() string {
	if w.now != nil {
		return w.now.Name
	}
	return w.before[0].Name
}

// expire drops the writes that every listing from now on shows.
func (r recent) expire(now time.Time) {
	for id, w := range r {
		if now.Sub(w.at) > lag {
			delete(r, id)
		}
		if now.Sub(w.created) > lag {
			w.created = time.Time{}
		}
	}
}

// correct replaces the old states in a listing. A record in any other state was changed by another writer,
// and stays. names are those of the listing; nil means all.
func (r recent) correct(rows []record, names map[string]bool) []record {
	if len(r) == 0 {
		return rows
	}
	shown := map[string]bool{}
	var list []record
	for _, row := range rows {
		shown[row.ID] = true
		if w := r[row.ID]; w != nil && w.matchesOld(row) {
			if w.now == nil {
				continue
			}
			row = *w.now
		}
		list = append(list, row)
	}
	for id, w := range r {
		// A missing record was deleted by another writer, unless we have just created it.
		if !shown[id] && w.now != nil && !w.created.IsZero() && (names == nil || names[w.now.Name]) {
			list = append(list, *w.now)
		}
	}
	return list
}

// matchesOld reports whether a record is in an old state.
func (w *recentWrite) matchesOld(row record) bool {
	for _, b := range w.before {
		if b.same(row) {
			return true
		}
	}
	return false
}

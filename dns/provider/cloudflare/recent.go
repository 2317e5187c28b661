package cloudflare

import "time"

// lag is how long after a change a listing may still show what was there before.
const lag = 10 * time.Second

// recent are the records of a zone that were written lately, by their IDs: a listing may not show
// them yet as they are.
type recent map[string]*written

// written is a record that was written. Before has what it was, the oldest first. Now is nil for one
// that was deleted.
type written struct {
	before []record
	now    *record
	at     time.Time
	// created is when it was made, if a listing may still lack it.
	created time.Time
}

// note remembers the operations of units that were made. Made is the answer of Cloudflare.
func (z *managedZone) note(units []*unit, made operations[record], at time.Time) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.recent.expire(at)
	for _, u := range units {
		for _, c := range u.Changes {
			z.claims.note(c)
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
			z.recent[r.ID] = &written{now: &r, at: at, created: at}
		}
	}
}

func (r recent) note(before record, now *record, at time.Time) {
	w := r[before.ID]
	if w == nil {
		w = &written{}
		r[before.ID] = w
	}
	w.before, w.now, w.at = append(w.before, before), now, at
}

// forget drops the recent writes of a unit, because somebody else has changed its records since.
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

func (w *written) name() string {
	if w.now != nil {
		return w.now.Name
	}
	return w.before[0].Name
}

// expire drops what every listing that begins now shows.
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

// correct replaces in a listing what it shows of the time before a change. If it shows something
// that was never there before, somebody else has made that, and it stays. Names are those that the
// listing is about; nil is for all.
func (r recent) correct(rows []record, names map[string]bool) []record {
	if len(r) == 0 {
		return rows
	}
	shown := map[string]bool{}
	var list []record
	for _, row := range rows {
		shown[row.ID] = true
		if w := r[row.ID]; w != nil && w.was(row) {
			if w.now == nil {
				continue
			}
			row = *w.now
		}
		list = append(list, row)
	}
	for id, w := range r {
		// One that was there before and isn't any more was deleted by somebody else.
		if !shown[id] && w.now != nil && !w.created.IsZero() && (names == nil || names[w.now.Name]) {
			list = append(list, *w.now)
		}
	}
	return list
}

// was reports whether a record is as it was before a change.
func (w *written) was(row record) bool {
	for _, b := range w.before {
		if b.same(row) {
			return true
		}
	}
	return false
}

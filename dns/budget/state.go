package budget

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/signpostd/signpost/dns"
)

// Limits of a state. A stored state is cut to these limits when it is read, so that a writer of the
// store can't exhaust the process's memory.
const (
	// MaxBytes limits the size of a state. A ConfigMap may have a megabyte.
	MaxBytes = 768 << 10
	maxZones = 4000
	// maxDigests limits the changes that are remembered individually.
	maxDigests = 20000
	// maxCount is more than the changes of any zone.
	maxCount = 1 << 24
	// maxText limits a name, an ID, a hash or settings, in bytes.
	maxText = 1024
)

// digestBytes is the size of a stored digest.
const digestBytes = 16

const stateVersion = 1

// state is the stored form of a book.
type state struct {
	Version int         `json:"version"`
	Zones   []zoneState `json:"zones"`
}

// zoneState is the stored form of a ledger. Times are in milliseconds since 1970.
type zoneState struct {
	ID       string   `json:"id,omitempty"`
	Name     string   `json:"name"`
	Settings []string `json:"settings,omitempty"`
	// Deletions, SettingsUpdates and ObjectUpdates are lists of a time and a count.
	Deletions       [][2]int64 `json:"deletions,omitempty"`
	SettingsUpdates [][2]int64 `json:"settingsUpdates,omitempty"`
	ObjectUpdates   [][2]int64 `json:"objectUpdates,omitempty"`
	// UnknownUntil is until when counted changes need an approval ([Book.Distrust]).
	UnknownUntil int64 `json:"unknownUntil,omitempty"`
	// Plans are the announced plans, oldest first. Earlier versions stored "plans" and "approved"
	// without the old targets of changes. Both are ignored, because it is unknown which targets were
	// shown.
	Plans []planState `json:"shownPlans,omitempty"`
	// Approved are the approved changes.
	Approved []approvedState `json:"approvedChanges,omitempty"`
	// Excepted are the names that were left out of an approval, as digests without a change.
	Excepted digests `json:"exceptedNames,omitempty"`
}

type planState struct {
	Hash string `json:"hash"`
	At   int64  `json:"at"`
	// Changes is the number of changes of the plan.
	Changes int `json:"changes,omitempty"`
	// Shown are the changes that no earlier plan of the list has. For a record set that is now held
	// with another change, it has [digest.anyChange].
	Shown digests `json:"shown,omitempty"`
}

type approvedState struct {
	Until   int64   `json:"until"`
	Changes digests `json:"changes"`
}

// digests are stored as base64, 16 bytes each.
type digests []digest

// MarshalJSON implements [json.Marshaler].
func (d digests) MarshalJSON() ([]byte, error) {
	raw := make([]byte, 0, digestBytes*len(d))
	for _, one := range d {
		raw = binary.BigEndian.AppendUint64(raw, one.key)
		raw = binary.BigEndian.AppendUint64(raw, one.change)
	}
	return json.Marshal(base64.StdEncoding.EncodeToString(raw))
}

// UnmarshalJSON implements [json.Unmarshaler].
func (d *digests) UnmarshalJSON(text []byte) error {
	var encoded string
	if err := json.Unmarshal(text, &encoded); err != nil {
		return err
	}
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return err
	}
	for ; len(raw) >= digestBytes && len(*d) < maxDigests; raw = raw[digestBytes:] {
		*d = append(*d, digest{binary.BigEndian.Uint64(raw), binary.BigEndian.Uint64(raw[8:])})
	}
	return nil
}

func (z *zoneState) spendings() [kinds]*[][2]int64 {
	return [kinds]*[][2]int64{&z.Deletions, &z.SettingsUpdates, &z.ObjectUpdates}
}

// state returns the state to store. Zones with the most to lose come first, so that the size limit
// drops what matters least.
func (b *Book) state(now time.Time) state {
	s := state{Version: stateVersion}
	for _, l := range b.zones {
		if z := l.state(now); z.weight() > 0 {
			s.Zones = append(s.Zones, z)
		}
	}
	s.cut()
	return s
}

// weight returns how much is lost without the state of a zone.
func (z *zoneState) weight() int {
	sum := min(len(z.Settings), 1) + len(z.Plans) + len(z.Approved) + min(len(z.Excepted), 1) + int(min(z.UnknownUntil, 1))
	for _, spent := range z.spendings() {
		sum += len(*spent)
	}
	return sum
}

// cut drops what exceeds the limits.
func (s *state) cut() {
	slices.SortFunc(s.Zones, func(a, b zoneState) int {
		return cmp.Or(cmp.Compare(b.weight(), a.weight()), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	s.Zones = s.Zones[:min(len(s.Zones), maxZones)]
	room := maxDigests
	for i := range s.Zones {
		z := &s.Zones[i]
		z.Excepted = z.Excepted[:min(len(z.Excepted), room)]
		room -= len(z.Excepted)
		for j := range z.Approved {
			if room -= len(z.Approved[j].Changes); room < 0 {
				z.Approved = z.Approved[:j]
				break
			}
		}
		// A plan builds on earlier ones, so it is useless without them.
		for j := range z.Plans {
			if room -= len(z.Plans[j].Shown); room < 0 {
				z.Plans = z.Plans[:j]
				break
			}
		}
		room = max(room, 0)
	}
}

func (l *Ledger) state(now time.Time) zoneState {
	z := zoneState{ID: l.zone.ID, Name: l.zone.Name, Settings: l.accepted}
	for k, list := range z.spendings() {
		l.spent[k], _ = l.spent[k].within(now, l.book.limits.Window)
		for _, s := range l.spent[k] {
			*list = append(*list, [2]int64{s.at.UnixMilli(), int64(s.count)})
		}
	}
	if now.Before(l.unknownUntil) {
		z.UnknownUntil = l.unknownUntil.UnixMilli()
	}
	shown, approved := map[int]digests{}, map[int64]digests{}
	known := maps.Clone(l.recalled)
	for i := range l.all() {
		known[i.digest] = i.userState
		if i.replaces > 0 {
			known[i.anyChange()] = userState{shown: i.replaces}
		}
	}
	for d, m := range known {
		switch {
		case now.Before(m.approved):
			approved[m.approved.UnixMilli()] = append(approved[m.approved.UnixMilli()], d)
		case m.shown > 0:
			shown[m.shown] = append(shown[m.shown], d)
		}
	}
	for name := range l.excepted {
		z.Excepted = append(z.Excepted, digest{key: name})
	}
	slices.SortFunc(z.Excepted, digest.compare)
	for _, until := range slices.Sorted(maps.Keys(approved)) {
		slices.SortFunc(approved[until], digest.compare)
		z.Approved = append(z.Approved, approvedState{until, approved[until]})
	}
	z.Plans = l.announced.state(shown)
	return z
}

// state returns the plans, each with the changes that it was the first to show. Changes of
// forgotten plans move to the next plan.
func (a *announcements) state(shown map[int]digests) []planState {
	var plans []planState
	before := 0
	for _, p := range a.plans {
		var first digests
		for n := before + 1; n <= p.number; n++ {
			first = append(first, shown[n]...)
		}
		before = p.number
		slices.SortFunc(first, digest.compare)
		plans = append(plans, planState{p.Hash, p.at.UnixMilli(), p.changes, first})
	}
	return plans
}

func encode(s state) []byte {
	for {
		text, err := json.Marshal(s)
		if err != nil {
			panic(fmt.Sprintf("encode the state of budgets: %v", err)) // it has texts and numbers only
		}
		if len(text) <= MaxBytes || len(s.Zones) == 0 {
			return text
		}
		s.Zones = s.Zones[:len(s.Zones)*3/4]
	}
}

// decode reads a state, which is untrusted. An empty text is an empty state.
func decode(text []byte, now time.Time, window time.Duration) (state, error) {
	var s state
	switch {
	case len(text) == 0:
		return state{Version: stateVersion}, nil
	case len(text) > MaxBytes:
		return s, fmt.Errorf("read the state of budgets: it has %d bytes, more than %d: delete it", len(text), MaxBytes)
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return s, fmt.Errorf("read the state of budgets: %w: delete it if it was edited", err)
	}
	if s.Version != stateVersion {
		return state{}, fmt.Errorf("read the state of budgets: it has the version %d instead of %d: it is ignored", s.Version, stateVersion)
	}
	s.cut()
	for i := range s.Zones {
		s.Zones[i].sanitise(now, window)
	}
	s.Zones = slices.DeleteFunc(s.Zones, func(z zoneState) bool { return len(z.ID) > maxText || len(z.Name) > maxText })
	return s, nil
}

// sanitise cuts long lists, and brings times and numbers into their valid range.
func (z *zoneState) sanitise(now time.Time, window time.Duration) {
	long := func(s string) bool { return s == "" || len(s) > maxText }
	z.Settings = slices.DeleteFunc(z.Settings[:min(len(z.Settings), maxSettings)], long)
	for _, list := range z.spendings() {
		kept := (*list)[max(0, len(*list)-maxSpendings):]
		for i := range kept {
			// A time in the future would never expire.
			kept[i][0] = min(kept[i][0], now.UnixMilli())
			kept[i][1] = min(max(kept[i][1], 0), maxCount)
		}
		kept = slices.DeleteFunc(kept, func(s [2]int64) bool { return s[0] <= now.Add(-window).UnixMilli() })
		slices.SortStableFunc(kept, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
		*list = kept
	}
	z.UnknownUntil = min(max(z.UnknownUntil, 0), now.Add(window).UnixMilli())
	z.Plans = slices.DeleteFunc(z.Plans[max(0, len(z.Plans)-maxPlans):], func(p planState) bool { return long(p.Hash) })
	for i := range z.Plans {
		z.Plans[i].At = min(max(z.Plans[i].At, 0), now.UnixMilli())
		z.Plans[i].Changes = min(max(z.Plans[i].Changes, 0), maxCount)
	}
	latest := now.Add(ApprovalTime).UnixMilli()
	for i := range z.Approved {
		z.Approved[i].Until = min(max(z.Approved[i].Until, 0), latest)
	}
}

func (b *Book) restore(s state) {
	for _, z := range s.Zones {
		l := b.Ledger(dns.Zone{ID: z.ID, Name: z.Name})
		if b.loading {
			l.forgetRecalled()
			l.announced.plans = nil
		} else {
			// The store could not be read before, so users may have seen plans of this term.
			l.remember()
			l.makeRoom(len(z.Plans))
		}
		l.restore(z)
	}
}

// makeRoom renumbers the plans of this term after so many earlier ones.
func (l *Ledger) makeRoom(earlier int) {
	for i := range l.announced.plans {
		l.announced.plans[i].number += earlier
	}
	known := l.recalled
	l.forgetRecalled()
	for d, m := range known {
		if m.shown > 0 {
			m.shown += earlier
		}
		if m.replaces > 0 {
			m.replaces += earlier
		}
		l.recall(d, m)
	}
}

// restore adds a stored state to the ledger: spendings, earlier plans, and approvals.
func (l *Ledger) restore(z zoneState) {
	l.accepted, l.known = z.Settings, true
	if until := time.UnixMilli(z.UnknownUntil); z.UnknownUntil > 0 && until.After(l.unknownUntil) {
		l.unknownUntil = until
	}
	for k, list := range z.spendings() {
		l.spent[k] = mergeSpendings(l.spent[k], *list)
	}
	var earlier []Announcement
	for i, p := range z.Plans {
		earlier = append(earlier, Announcement{p.Hash, i + 1, time.UnixMilli(p.At), p.Changes})
		for _, d := range p.Shown {
			if m := l.recalled[d]; m.shown == 0 || m.shown > i+1 {
				m.shown = i + 1
				l.recall(d, m)
			}
		}
	}
	later := slices.DeleteFunc(l.announced.plans, func(p Announcement) bool {
		return slices.ContainsFunc(earlier, func(e Announcement) bool { return e.Hash == p.Hash })
	})
	all := append(earlier, later...)
	l.announced.plans = all[max(0, len(all)-maxPlans):]
	l.announced.last += len(earlier)
	for _, a := range z.Approved {
		for _, d := range a.Changes {
			m := l.recalled[d]
			if until := time.UnixMilli(a.Until); until.After(m.approved) {
				m.approved = until
			}
			l.recall(d, m)
		}
	}
	for _, d := range z.Excepted {
		l.excepted[d.key] = struct{}{}
	}
}

package publisher

import (
	"hash/maphash"
	"maps"
	"slices"
	"time"

	"github.com/signpostd/signpost/dns"
)

// maxRepeats is how often the same plan of a name is tried without an extra delay. Once is usual.
// Twice happens if another writer writes at the same moment.
const maxRepeats = 3

// trial counts how often in a row the same plan of a name was tried without a listing that shows
// the planned state. It is separate from [nameState], because every written name has one until the
// zone is listed again.
type trial struct {
	// plan is the digest of the planned state.
	plan  uint64
	times int
	last  time.Time
	// succeeded is true if the changes were made the last time.
	succeeded bool
	// reported is true after the repetition was reported. changed are the record sets that the plan
	// changes.
	reported bool
	changed  []dns.Key
}

// digestSeed is the seed of digests. They are compared only within the process.
var digestSeed = maphash.MakeSeed()

// digest returns a hash of the record sets that a plan makes and removes. The current records don't
// count, because a provider may list them differently each time.
func (g group) digest() uint64 {
	var h maphash.Hash
	h.SetSeed(digestSeed)
	for _, c := range slices.Concat(g.changes, g.orphans) {
		maphash.WriteComparable(&h, c.RecordSet().Key())
		if c.New == nil {
			maphash.WriteComparable(&h, "delete")
			continue
		}
		maphash.WriteComparable(&h, c.New.TTL)
		for _, target := range c.New.Targets {
			maphash.WriteComparable(&h, target)
		}
		for _, property := range c.New.Properties {
			maphash.WriteComparable(&h, property)
		}
		for _, label := range slices.Sorted(maps.Keys(c.New.Labels)) {
			maphash.WriteComparable(&h, [...]string{label, c.New.Labels[label]})
		}
	}
	return h.Sum64()
}

// tried records that the plan of a name failed by itself.
func (s *names) tried(n *nameState, now time.Time) { s.addTrial(n, trial{last: now}) }

// made records that the changes of a name were made. It reports whether the same ones were made the
// last time.
func (s *names) made(n *nameState, now time.Time) (again bool) {
	before := s.addTrial(n, trial{last: now, succeeded: true})
	return before.succeeded
}

// addTrial adds a trial, and returns the preceding one if it was of the same plan.
func (s *names) addTrial(n *nameState, t trial) (before trial) {
	t.plan, t.times = n.plan.digest(), 1
	if of := s.trials[n.name]; of.plan == t.plan {
		before = of
		t.times, t.reported, t.changed = before.times+1, before.reported, before.changed
	}
	s.setTrial(n.name, t)
	return before
}

// setTrial replaces the trial of a name; the zero value removes it.
func (s *names) setTrial(name string, t trial) {
	if s.repeating(name) {
		s.repeated--
	}
	if t.times == 0 {
		delete(s.trials, name)
	} else {
		s.trials[name] = t
	}
	if s.repeating(name) {
		s.repeated++
	}
}

// repeating reports whether the same plan of a name was tried too often.
func (s *names) repeating(name string) bool { return s.trials[name].times >= maxRepeats }

// repeats reports whether a plan was tried too often, and until when it has to wait.
func (s *names) repeats(g group, maxDelay time.Duration) (until time.Time, repeats bool) {
	t := s.trials[g.name]
	if t.times < maxRepeats || g.size() == 0 || t.plan != g.digest() {
		return time.Time{}, false
	}
	return t.last.Add(backoff(t.times-maxRepeats, maxDelay)), true
}

// markReported records that the repetition of a name's plan is reported. It reports whether it
// wasn't before.
func (s *names) markReported(name string) bool {
	t := s.trials[name]
	first := !t.reported
	t.reported = true
	s.trials[name] = t
	return first
}

// shown handles a listing of the zone. It ends the trials of settled names, because the zone is as
// planned, except for the names in later, which were written since. A blind listing shows nothing,
// so the next plan may be one that was made before.
func (s *names) shown(later map[string]struct{}, blind bool) {
	for name, t := range s.trials {
		n := s.all[name]
		_, written := later[name]
		switch {
		case written:
		case n == nil || n.phase == settled:
			s.setTrial(name, trial{})
			if n != nil && t.reported {
				s.setReason(n, "", "")
				s.move(n, settled)
			}
		case blind && t.times > 1:
			t.times, t.reported = 1, false
			s.setTrial(name, t)
		}
	}
}

// setChanged records which record sets the reported plan of a name changes.
func (s *names) setChanged(name string, changes []dns.Change) {
	t := s.trials[name]
	t.changed = nil
	for _, c := range changes {
		t.changed = append(t.changed, c.RecordSet().Key())
	}
	s.trials[name] = t
}

// unconfirmed returns the record sets that a reported plan of a name changes. The mirror may lack those
// that it deletes, until a listing shows them again.
func (s *names) unconfirmed(name string) []dns.Key {
	if t := s.trials[name]; t.reported && t.succeeded {
		return t.changed
	}
	return nil
}

// withoutEffect reports whether a change of a record set was reported as one without effect, and no
// listing has shown its result since.
func (s *names) withoutEffect(k dns.Key) bool {
	t := s.trials[k.Name]
	return t.reported && slices.Contains(t.changed, k)
}

// delayRepeated delays a name whose plan was tried too often, and reports that once. It returns
// whether the name waits.
func (p *Publisher) delayRepeated(z *zone, n *nameState, g group) bool {
	until, repeats := z.names.repeats(g, p.Interval)
	if !repeats {
		return false
	}
	if z.names.markReported(n.name) {
		z.names.setChanged(n.name, g.changes)
		p.reportRepeated(z, n, g)
	}
	if p.once == nil && !time.Now().Before(until) {
		return false
	}
	z.names.wait(n, until)
	return true
}

// reportRepeated reports that the plan of a name has no effect, unless the error of the last try was
// reported.
func (p *Publisher) reportRepeated(z *zone, n *nameState, g group) {
	if n.reason == ReasonError && n.message != "" {
		return
	}
	const message = "the same change was made three times, and is still needed: the provider doesn't keep it, or something else writes this name. " +
		"It is retried with growing delays: check what the provider lists under the name"
	z.names.setReason(n, ReasonError, message)
	c := slices.Concat(g.changes, g.orphans)[0]
	p.Log.Warn("A change has no effect; trying it less often", "zone", z.Name, "change", describe(c), "err", message)
	p.Notify(Notice{Record: c.RecordSet(), Objects: c.RecordSet().Objects, Action: ActionFailed, Reason: ReasonError, Message: message})
}

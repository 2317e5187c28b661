package publisher

import (
	"hash/maphash"
	"maps"
	"slices"
	"strconv"
	"time"
)

// mostRepeats is how often the same plan of a name is tried without a delay of its own. Once is
// usual, twice happens when somebody else writes in the same moment.
const mostRepeats = 3

// trial is how often in a row the same plan of a name was tried, while no listing has shown
// that the zone is as planned. It is kept apart from [nameState], because every name that was written
// has one until the zone is listed again.
type trial struct {
	// plan is the digest of what the plan is to reach.
	plan  uint64
	times int
	last  time.Time
	// made is true when the changes were made the last time.
	made bool
	// told is true when people know that the plan comes to nothing.
	told bool
}

// digestSeed makes digests of plans. They are compared only within the process.
var digestSeed = maphash.MakeSeed()

// digest returns a number for what a plan is to reach: the record sets that it makes and removes. What is
// there before doesn't count, because a provider may list something else each time.
func (g group) digest() uint64 {
	var h maphash.Hash
	h.SetSeed(digestSeed)
	word := func(s string) {
		h.WriteString(s)
		h.WriteByte(0)
	}
	for _, c := range slices.Concat(g.changes, g.orphans) {
		key := c.RecordSet().Key()
		word(key.Name)
		word(key.Type)
		word(key.SetIdentifier)
		if c.New == nil {
			word("delete")
			continue
		}
		word(strconv.FormatInt(c.New.TTL, 10))
		for _, target := range c.New.Targets {
			word(target)
		}
		for _, property := range c.New.Properties {
			word(property.Name)
			word(property.Value)
		}
		for _, label := range slices.Sorted(maps.Keys(c.New.Labels)) {
			word(label)
			word(c.New.Labels[label])
		}
	}
	return h.Sum64()
}

// tried notes that the plan of a name failed by itself.
func (s *names) tried(n *nameState, now time.Time) { s.addTrial(n, trial{last: now}) }

// made notes that the changes of a name were made. It reports whether the same ones were made the last time.
func (s *names) made(n *nameState, now time.Time) (again bool) {
	before := s.addTrial(n, trial{last: now, made: true})
	return before.made
}

// addTrial adds a trial, and returns the one before it if that was of the same plan.
func (s *names) addTrial(n *nameState, t trial) (before trial) {
	t.plan, t.times = n.plan.digest(), 1
	if of := s.trials[n.name]; of.plan == t.plan {
		before = of
		t.times, t.told = before.times+1, before.told
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

// repeating reports whether a name was tried so often with the same plan that it is tried less and
// less often.
func (s *names) repeating(name string) bool { return s.trials[name].times >= mostRepeats }

// repeats reports whether a plan is one that was tried too often, and returns until when it has to wait.
func (s *names) repeats(g group, most time.Duration) (until time.Time, repeats bool) {
	t := s.trials[g.name]
	if t.times < mostRepeats || g.size() == 0 || t.plan != g.digest() {
		return time.Time{}, false
	}
	return t.last.Add(backoff(t.times-mostRepeats, most)), true
}

// tell notes that people are told that the plan of a name comes to nothing. It reports whether
// they weren't before.
func (s *names) tell(name string) bool {
	t := s.trials[name]
	first := !t.told
	t.told = true
	s.trials[name] = t
	return first
}

// shown notes that a listing has shown the zone, but not what was written under the names in later. Names
// about which there is nothing to do are as they were planned. A blind listing shows nothing: what is planned after it may have been
// made before.
func (s *names) shown(later map[string]struct{}, blind bool) {
	for name, t := range s.trials {
		n := s.all[name]
		_, written := later[name]
		switch {
		case written:
		case n == nil || n.phase == settled:
			s.setTrial(name, trial{})
			if n != nil && t.told {
				s.explain(n, "", "")
				s.move(n, settled)
			}
		case blind && t.times > 1:
			t.times, t.told = 1, false
			s.setTrial(name, t)
		}
	}
}

// pauses lets a name wait whose plan was tried too often, and says so once. It reports whether the
// name waits.
func (p *Publisher) pauses(z *zone, n *nameState, g group) bool {
	until, repeats := z.names.repeats(g, p.Interval)
	if !repeats {
		return false
	}
	if z.names.tell(n.name) {
		p.sayRepeated(z, n, g)
	}
	if p.once == nil && !time.Now().Before(until) {
		return false
	}
	z.names.wait(n, until)
	return true
}

// sayRepeated says that the plan of a name comes to nothing, unless the error of the last try was said.
func (p *Publisher) sayRepeated(z *zone, n *nameState, g group) {
	if n.reason == ReasonError && n.message != "" {
		return
	}
	const message = "the same change was made three times, and is still needed: the provider doesn't keep it, or something else writes this name. " +
		"It is tried less and less often: look at what the provider lists under the name"
	z.names.explain(n, ReasonError, message)
	c := slices.Concat(g.changes, g.orphans)[0]
	p.Log.Warn("A change has no effect; trying it less often", "zone", z.Name, "change", describe(c), "err", message)
	p.Notify(Notice{Record: c.RecordSet(), Objects: c.RecordSet().Objects, Action: ActionFailed, Reason: ReasonError, Message: message})
}

package publisher

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/signpostd/signpost/dns"
)

// The invariants of names hold after random events, in any order in which a publisher can cause
// them. The model has a number for what objects ask for under each name, and the number that the
// last changes or the last response were about.
func TestNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &namesModel{t: t, noted: map[string]int{}, asked: map[string]int{}, made: map[string]int{}, about: map[string]int{}}
		m.names = newNames(m.note)
		t.Repeat(map[string]func(*rapid.T){
			"":        m.check,
			"touch":   m.touch,
			"outdate": m.outdate,
			"differ":  func(t *rapid.T) { m.names.differ(drawName(t)) },
			"ask":     m.ask,
			"plan":    m.plan,
			"permit":  m.permit,
			"apply":   m.apply,
			"due":     m.due,
			"release": func(*rapid.T) { m.names.release() },
			"listed":  func(*rapid.T) { m.names.listed() },
			"shown":   m.shown,
		})
		m.converge()
	})
}

type namesModel struct {
	t     *rapid.T
	names *names
	now   time.Time
	// asked has a number for what objects ask for, made that of what the zone has, and about that of
	// the last query or plan.
	asked, made, about map[string]int
	// noted is how many changes were noted of each name that has some.
	noted map[string]int
}

func (m *namesModel) note(name string, changes []dns.Change) {
	if m.noted[name] = len(changes); len(changes) == 0 {
		delete(m.noted, name)
	}
}

// losses returns the deletions among the changes of a name.
func losses(n *nameState) (lost, others []dns.Change) {
	for _, c := range n.plan.changes {
		if c.New == nil {
			lost = append(lost, c)
		} else {
			others = append(others, c)
		}
	}
	return lost, others
}

func drawName(t *rapid.T) string {
	return rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "name")
}

func (m *namesModel) touch(t *rapid.T) {
	name := drawName(t)
	m.asked[name]++
	m.names.touch(name)
}

func (m *namesModel) outdate(t *rapid.T) {
	name := drawName(t)
	m.asked[name]++
	m.names.outdate(name)
}

// ask queries all dirty names, or delivers the responses for those that were queried.
func (m *namesModel) ask(t *rapid.T) {
	if asking := m.names.sorted(asking); len(asking) > 0 {
		for _, n := range asking {
			switch rapid.IntRange(0, 3).Draw(t, "response for "+n.name) {
			case 0:
				m.names.responded(n, nil)
			case 1:
				m.names.refuse(n, m.later(t), "refused")
			default:
				m.names.responded(n, &adjustedSets{})
			}
		}
		return
	}
	for _, n := range m.names.sorted(dirty) {
		m.names.ask(n)
		m.about[n.name] = m.asked[n.name]
	}
}

// plan plans dirty names. Names with a response are planned by the number of the query.
func (m *namesModel) plan(t *rapid.T) {
	for _, n := range m.names.sorted(dirty) {
		if n.adjusted == nil {
			m.about[n.name] = m.asked[n.name]
		}
		m.planOne(t, n, rapid.IntRange(0, 6).Draw(t, "plan of "+n.name))
	}
}

func (m *namesModel) planOne(t *rapid.T, n *nameState, how int) {
	if m.made[n.name] == m.about[n.name] {
		m.names.settle(n)
		m.names.setReason(n, "", "")
		m.names.planned(n, group{name: n.name})
		return
	}
	if n.failures == 0 {
		m.names.setReason(n, "", "")
	}
	r := &dns.RecordSet{Name: n.name, Type: dns.TypeA}
	if until, repeats := m.names.repeats(group{name: n.name, changes: []dns.Change{{New: r}}}, time.Minute); repeats && how > 3 && m.now.Before(until) {
		m.names.markReported(n.name)
		m.names.setReason(n, ReasonError, "no effect")
		m.names.wait(n, until)
		return
	}
	switch how {
	case 0:
		m.names.setReason(n, ReasonSource, "unread")
		m.names.hold(n)
	case 1:
		m.names.refuse(n, m.later(t), "unmarkable")
	case 6:
		m.names.setReason(n, ReasonDelayed, "nobody asks for it")
		m.names.noteLoss(n, m.now)
		m.names.wait(n, m.later(t))
	case 2:
		m.names.planned(n, group{name: n.name, changes: []dns.Change{{Old: r}}})
	case 3:
		m.names.planned(n, group{name: n.name, changes: []dns.Change{{Old: r}, {Old: r, New: r}}})
	default:
		m.names.planned(n, group{name: n.name, changes: []dns.Change{{New: r}}})
	}
}

// shown delivers a listing, which shows all names except those that were written meanwhile.
func (m *namesModel) shown(t *rapid.T) {
	later := map[string]struct{}{}
	if rapid.Bool().Draw(t, "something is written meanwhile") {
		later[drawName(t)] = struct{}{}
	}
	m.names.shown(later, rapid.Bool().Draw(t, "blind"))
}

// permit holds or allows the losses of all names.
func (m *namesModel) permit(t *rapid.T) {
	pared := rapid.Bool().Draw(t, "pared")
	for _, name := range []string{"a", "b", "c", "d"} {
		n := m.names.all[name]
		if n == nil || n.phase != planned && n.phase != held {
			continue
		}
		lost, permitted := losses(n)
		if len(lost) == 0 {
			continue
		}
		if pared && n.reason == "" {
			m.names.setReason(n, ReasonHeld, "budget")
		}
		if !pared {
			permitted = n.plan.changes
		}
		m.names.permit(n, permitted)
	}
}

// apply begins to apply, or delivers the result.
func (m *namesModel) apply(t *rapid.T) {
	if applying := m.names.sorted(applying); len(applying) > 0 {
		for _, n := range applying {
			m.applied(t, n)
		}
		return
	}
	before := map[string]uint64{}
	for _, n := range m.names.sorted(planned) {
		before[n.name] = n.ticket
	}
	maxNames := rapid.IntRange(0, 3).Draw(t, "most")
	taken := m.names.take(maxNames, 0)
	if maxNames > 0 && len(taken) > maxNames {
		t.Fatalf("%d names taken, want at most %d", len(taken), maxNames)
	}
	for i, g := range taken {
		if g.size() == 0 {
			t.Fatalf("%s is taken without changes", g.name)
		}
		if g.deletes() && m.about[g.name] != m.asked[g.name] {
			t.Fatalf("%s loses something, and objects ask for something else since that was planned", g.name)
		}
		if i > 0 && before[taken[i-1].name] > before[g.name] {
			t.Fatalf("%s comes after %s, and was planned before it", g.name, taken[i-1].name)
		}
		delete(before, g.name)
		for other, ticket := range before {
			if i == len(taken)-1 && ticket < m.names.all[g.name].ticket {
				t.Fatalf("%s waits, and was planned before %s", other, g.name)
			}
		}
	}
}

func (m *namesModel) applied(t *rapid.T, n *nameState) {
	g := n.permitted
	switch rapid.IntRange(0, 5).Draw(t, "outcome of "+n.name) {
	case 0:
		m.names.attempt(n, g, nil)
		m.names.tried(n, m.now)
		m.names.fail(n, m.later(t), "rejected")
	case 1:
		m.names.retry(n)
	case 2:
		if m.names.attempt(n, g, nil); m.names.outdated(n) {
			m.names.retry(n)
		} else {
			m.names.retryAsNew(n)
		}
	case 3:
		m.names.propose(n, g)
	default:
		if g.size() == n.plan.size() {
			m.made[n.name] = m.about[n.name]
		}
		m.names.made(n, m.now)
		m.names.done(n)
		if slices.ContainsFunc(g.changes, func(c dns.Change) bool { return n.attempted(c.RecordSet()) }) {
			t.Fatalf("%s has attempts of what was made", n.name)
		}
	}
}

func (m *namesModel) due(t *rapid.T) {
	m.now = m.later(t)
	m.names.due(m.now)
	for _, n := range m.names.sorted(waiting) {
		if !m.now.Before(n.next) {
			t.Fatalf("%s waits, although its time has come", n.name)
		}
	}
}

func (m *namesModel) later(t *rapid.T) time.Time {
	return m.now.Add(time.Duration(rapid.IntRange(1, 5).Draw(t, "later")) * time.Second)
}

// check checks what always holds.
func (m *namesModel) check(t *rapid.T) {
	total, failing, noted := 0, 0, 0
	for p := range m.names.in {
		for i, n := range m.names.in[p].names {
			total++
			if n.phase != phase(p) || n.heapIndex != i || m.names.all[n.name] != n {
				t.Fatalf("%s is number %d of the names that are %s, and says %d and %s", n.name, i, phase(p), n.heapIndex, n.phase)
			}
		}
	}
	if total != len(m.names.all) {
		t.Fatalf("%d names are in the indexes, %d in all", total, len(m.names.all))
	}
	for _, n := range m.names.all {
		if n.failures > 0 {
			failing++
		}
		if len(n.plan.changes) > 0 {
			noted++
		}
		if m.noted[n.name] != len(n.plan.changes) {
			t.Fatalf("%d changes of %s were noted, it has %d", m.noted[n.name], n.name, len(n.plan.changes))
		}
		if problem := m.problem(n); problem != "" {
			t.Fatalf("%s is %s: %s", n.name, n.phase, problem)
		}
	}
	repeated := 0
	for _, of := range m.names.trials {
		if of.times >= maxRepeats {
			repeated++
		}
	}
	if repeated != m.names.repeated {
		t.Fatalf("%d names are counted whose plan came to nothing, there are %d", m.names.repeated, repeated)
	}
	if failing != m.names.failing || noted != len(m.noted) {
		t.Fatalf("%d failing names and %d with changes are counted, there are %d and %d", m.names.failing, len(m.noted), failing, noted)
	}
	for name, asked := range m.asked {
		if n := m.names.all[name]; n == nil && m.made[name] != asked {
			t.Fatalf("%s is forgotten, and isn't as asked for", name)
		}
	}
}

// problem returns what is wrong with a state, or "".
func (m *namesModel) problem(n *nameState) string {
	asked := m.asked[n.name] == m.about[n.name]
	switch {
	case n.phase == settled && n.quiet():
		return "nothing is to be said about it"
	case n.phase == settled && n.proposed.size() == 0 && m.made[n.name] != m.asked[n.name] && n.reason == "":
		return "it isn't as asked for, and doesn't say why"
	case (n.phase == held || n.phase == waiting) && n.reason == "":
		return "it doesn't say why"
	case n.phase == waiting && n.next.IsZero():
		return "nothing wakes it"
	case n.phase == planned && n.permitted.size() == 0:
		return "it has no changes"
	case n.phase != dirty && n.adjusted != nil && n.phase != planned && n.phase != applying && n.phase != asking:
		return "it keeps a response"
	case !asked && !n.requeue && n.phase != dirty:
		return "what objects ask for now is lost"
	}
	return ""
}

// converge checks that every name gets what objects ask for when nothing fails any more.
func (m *namesModel) converge() {
	for range 10 {
		m.now = m.now.Add(time.Hour)
		m.names.due(m.now)
		m.names.shown(nil, false)
		m.names.release()
		m.names.listed()
		for _, n := range m.names.sorted(asking) {
			m.names.responded(n, &adjustedSets{})
		}
		for _, n := range m.names.sorted(dirty) {
			if n.adjusted == nil {
				m.about[n.name] = m.asked[n.name]
			}
			m.planOne(m.t, n, 4)
		}
		for name := range m.noted {
			if n := m.names.all[name]; n.phase == planned || n.phase == held {
				m.names.permit(n, n.plan.changes)
			}
		}
		m.names.take(0, 0)
		for _, n := range m.names.sorted(applying) {
			m.made[n.name] = m.about[n.name]
			m.names.done(n)
		}
	}
	for name, asked := range m.asked {
		if m.made[name] != asked {
			m.t.Fatalf("%s isn't as asked for in the end: %s", name, m.names.all[name].phase)
		}
	}
	if len(m.names.all) > 0 {
		m.t.Fatalf("%d names are left", len(m.names.all))
	}
}

// A name that is planned again keeps its turn, so that names that are touched all the time don't
// wait behind later ones.
func TestNamesKeepTheirTurn(t *testing.T) {
	s := newNames(noMetrics)
	plan := func(name string) {
		n := s.state(name)
		s.planned(n, group{name: name, changes: []dns.Change{{New: &dns.RecordSet{Name: name}}}})
	}
	for i := range 10 {
		s.touch("hot")
		s.touch(fmt.Sprint("n", i))
		plan("hot")
		plan(fmt.Sprint("n", i))
	}
	if taken := s.take(1, 0); taken[0].name != "hot" {
		t.Errorf("%s comes first", taken[0].name)
	}
}

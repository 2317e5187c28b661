package budget

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
)

// model is a simple count of what the fixture may lose.
type model struct {
	*fixture
	// lost are the times of the losses that were made without approval.
	lost []time.Time
	// shown has the changes of each plan, and approved the approved changes, as lines.
	shown    map[string][]string
	approved map[string]bool
	plans    int
}

// losses returns the deletions without a replacement: each unwanted record set of the zone, unless
// one of the same name and identifier is new. All record sets of this fixture have identifiers.
func (m *model) losses() (lines []string) {
	for key, old := range m.zone {
		if m.want[key] != nil {
			continue
		}
		replaced := false
		for other := range m.want {
			replaced = replaced || m.zone[other] == nil && other.Name == key.Name && other.SetIdentifier == key.SetIdentifier
		}
		if !replaced {
			lines = append(lines, line(dns.Change{Old: old}))
		}
	}
	return lines
}

// forget drops what was shown and approved of deletions that are no longer needed.
func (m *model) forget(wanted []string) {
	gone := func(l string) bool { return !slices.Contains(wanted, l) }
	for hash := range m.shown {
		m.shown[hash] = slices.DeleteFunc(m.shown[hash], gone)
	}
	maps.DeleteFunc(m.approved, func(l string, _ bool) bool { return gone(l) })
}

// step compares a sync of the fixture with the model.
func (m *model) step() {
	m.t.Helper()
	wanted := m.losses()
	m.forget(wanted)
	open := 0
	for _, l := range wanted {
		if !m.approved[l] {
			open++
		}
	}
	m.lost = slices.DeleteFunc(m.lost, func(at time.Time) bool { return m.now.Sub(at) >= m.limits.Window })
	allowed := max(m.limits.Deletions.Records, (len(m.zone)+len(m.lost))*m.limits.Deletions.Percent/100)
	held := open+len(m.lost) > allowed
	before := maps.Clone(m.zone)
	m.sync()
	for _, l := range wanted {
		gone := !slices.Contains(m.losses(), l)
		if may := m.approved[l] || !held; gone != may {
			m.t.Fatalf("%s is made: %v, want %v: %d are open, %d were lost, %d allowed, zone %d", l, gone, may, open, len(m.lost), allowed, len(before))
		}
		if gone && !m.approved[l] {
			m.lost = append(m.lost, m.now)
		}
	}
	m.forget(m.losses())
	for _, p := range m.fixture.plans[m.plans:] {
		m.shown[p.Hash] = nil
		for _, c := range p.Changes {
			m.shown[p.Hash] = append(m.shown[p.Hash], line(c))
		}
	}
	m.plans = len(m.fixture.plans)
}

// approve approves a random plan, with random exceptions.
func (m *model) approve(r *rand.Rand) {
	hashes := slices.Sorted(maps.Keys(m.shown))
	if len(hashes) == 0 {
		return
	}
	hash := hashes[r.IntN(len(hashes))]
	a, err := m.book.Approve(m.now, hash, nil)
	if err != nil {
		return
	}
	wanted := m.losses()
	count := 0
	for _, l := range m.shown[hash] {
		if slices.Contains(wanted, l) && !m.approved[l] {
			m.approved[l] = true
			count++
		}
	}
	if a.Deletions != count {
		m.t.Fatalf("%d deletions were approved, of the plan %d are left", a.Deletions, count)
	}
}

// TestModel compares the ledger with a simple count, over random changes of the wanted records,
// approvals, delays, restarts and terms.
func TestModel(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			limits := Limits{Deletions: Limit{Records: r.IntN(4), Percent: r.IntN(40)}, SettingsUpdates: Limit{Percent: 100}, ObjectUpdates: Limit{Percent: 100}, Window: time.Minute}
			m := &model{fixture: newFixture(t, limits), shown: map[string][]string{}, approved: map[string]bool{}}
			for range 150 {
				set := fmt.Sprintf("n%d %s/%c 192.0.2.%d", r.IntN(8), []string{"A", "TXT"}[r.IntN(2)], 'x'+rune(r.IntN(3)), r.IntN(3))
				switch r.IntN(12) {
				case 0, 1, 2, 3, 4:
					m.ask(set)
				case 5, 6, 7:
					delete(m.want, parse(t, set).Key())
				case 8:
					m.drop(fmt.Sprint("n", r.IntN(8)))
				case 9:
					m.now = m.now.Add(time.Duration(r.IntN(50)) * time.Second)
				case 10:
					m.approve(r)
					continue
				default:
					// The approval is stored before its changes are made.
					if err := m.keeper.Keep(t.Context(), m.book.Snapshot(m.now)); err != nil {
						t.Fatal(err)
					}
					if r.IntN(2) == 0 {
						m.lead()
					} else {
						m.start("settings")
						m.plans = 0
					}
				}
				m.step()
			}
		})
	}
}

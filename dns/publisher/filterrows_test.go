package publisher

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/owner"
	"github.com/signpostd/signpost/dns/plan"
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/testkit/inmemorytest"
)

// In random states of a publisher, the fast path of filterRows selects the same rows as
// filterNameRows.
func TestFilterSettledRows(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		problem, seed := "", rapid.Uint64().Draw(rt, "seed")
		synctest.Test(t, func(t *testing.T) {
			s := &rowFiltering{random: rand.New(rand.NewPCG(seed, 1)), fixture: newFixture(t)}
			s.begin()
			defer func() { s.fixture.stop() }()
			for range 1 + s.random.IntN(10) {
				s.step()
				time.Sleep(pick(s, []time.Duration{0, quiet, 2 * time.Minute}))
				synctest.Wait()
				if problem = s.problem(); problem != "" {
					return
				}
			}
		})
		if problem != "" {
			rt.Fatal(problem)
		}
	})
}

type rowFiltering struct {
	random  *rand.Rand
	fixture *fixture
}

func pick[T any](s *rowFiltering, from []T) T { return from[s.random.IntN(len(from))] }

// The last of the names is that of ownership records of another one, too.
var filteredNames = []string{"a.shop.test", "b.shop.test", "sub.shop.test", "own-a-a.shop.test"}

// begin starts a publisher with random settings.
func (s *rowFiltering) begin() {
	policy := pick(s, plan.Policies())
	managed := pick(s, [][]string{{"A"}, {"A", "AAAA"}, plan.DefaultManaged()})
	without := pick(s, []string{"", "", "b.shop.test"})
	owned := s.random.IntN(5) > 0
	failing := s.random.IntN(5) == 0
	s.fixture.working()
	s.fixture.change = func(c *Config) {
		c.Rules.Policy, c.Rules.Managed = policy, managed
		if without != "" {
			c.Domains = leftOut(without)
		}
		if !owned {
			c.Owner, c.Rules.Owner = owner.None{}, ""
		}
	}
	if failing {
		s.fixture.failing(errors.New("out of order"), inmemorytest.Apply)
	}
	s.fixture.start()
}

type leftOut string

// Match implements [dns.Filter].
func (l leftOut) Match(name string) bool { return name != string(l) }

// step changes the zone, the objects or the settings.
func (s *rowFiltering) step() {
	switch s.random.IntN(8) {
	case 0:
		s.fixture.stop()
		s.begin()
	case 1, 2, 3:
		s.byHand()
	default:
		s.objects()
	}
}

// recordSet returns a random one.
func (s *rowFiltering) recordSet() *dns.RecordSet {
	kind := pick(s, [][]string{{"A", "192.0.2.1", "192.0.2.2"}, {"A", "192.0.2.1"}, {"AAAA", "2001:db8::1"}, {"CNAME", "x.example.net"}, {"TXT", "hello"}})
	r := &dns.RecordSet{Name: pick(s, filteredNames), Type: kind[0], Targets: kind[1:], TTL: 300}
	r.SetIdentifier = pick(s, []string{"", "", "", "x", "y"})
	return r
}

// byHand puts a record set into the zone, perhaps with an ownership record, or deletes it.
func (s *rowFiltering) byHand() {
	r := s.recordSet()
	if s.random.IntN(2) == 0 {
		s.fixture.zones.Delete(r.Key())
	} else if err := s.fixture.zones.Put(r); err != nil {
		return // such as a CNAME beside others
	}
	who := pick(s, []string{"", "me", "other"})
	if who == "" {
		return
	}
	_ = s.fixture.zones.Put(&dns.RecordSet{
		Name: "own-" + strings.ToLower(r.Type) + "-" + r.Name, Type: "TXT", TTL: 300, SetIdentifier: r.SetIdentifier,
		Targets: []string{`"heritage=external-dns,external-dns/owner=` + who + `,external-dns/resource=service/default/one"`},
	})
}

// objects has an object ask for random record sets, or for none.
func (s *rowFiltering) objects() {
	name := pick(s, []string{"one", "two"})
	var asked []*dns.RecordSet
	for range s.random.IntN(4) {
		r := s.recordSet()
		r.Labels = map[string]string{dns.LabelResource: "service/default/" + name}
		r.Objects = []dns.Object{{APIVersion: "v1", Kind: "Service", Namespace: "default", Name: name, Source: "service"}}
		asked = append(asked, r)
	}
	s.fixture.objects.setKey(source.Key{Namespace: "default", Name: name}, dns.Merge(asked)...)
}

// problem compares both paths, also as if not all sources were evaluated, and returns how they
// differ.
func (s *rowFiltering) problem() string {
	p, filter := s.fixture.publisher, RowFilter{
		Search: pick(s, []string{"", "192.0.2.2", "service/default/one", "b."}),
		States: pick(s, [][]RowState{nil, {RowPublished}, {RowNotOwned}, {RowPending, RowUnwanted, RowConflict}}),
	}
	problem := ""
	err := p.visit(s.fixture.t.Context(), func() {
		for places := range p.places() {
			for _, at := range places {
				problem += p.filtersOtherwise(at, filter)
				evaluated := p.sourcesEvaluated
				p.sourcesEvaluated = false
				problem += p.filtersOtherwise(at, filter)
				p.sourcesEvaluated = evaluated
			}
		}
	})
	if err != nil {
		return err.Error()
	}
	return problem
}

// filtersOtherwise returns how the rows of the two paths differ.
func (p *Publisher) filtersOtherwise(at nameInZone, f RowFilter) string {
	var fast, slow []match
	named := f.Search == "" || strings.Contains(at.name, f.Search)
	if !p.filterSettledRows(at, f, named, func(h match) { fast = append(fast, h) }) {
		return ""
	}
	p.filterNameRows(at, f, named, func(h match) { slow = append(slow, h) })
	slices.SortFunc(fast, compareHits)
	slices.SortFunc(slow, compareHits)
	if slices.Equal(fast, slow) {
		return ""
	}
	states := func(hits []match) (list []string) {
		for _, h := range hits {
			list = append(list, fmt.Sprintf("%s %s %q: %s", h.key.Name, h.key.Type, h.key.SetIdentifier, h.state))
		}
		return list
	}
	return fmt.Sprintf("\n%s (all sources evaluated: %t, filter %+v): %q, and the rows are %q: %+v", at.name, p.sourcesEvaluated, f, states(fast), states(slow), p.rowsAt(at))
}

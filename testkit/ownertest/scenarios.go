package ownertest

import (
	"errors"
	"fmt"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// scenarios are for all registries. D3 (a) is a creation that is refused, or that another writer precedes; D3
// (b) is an entry whose record was deleted.
var scenarios = []scenario{
	{"created, changed and deleted", func(s *sharedZone) {
		p := s.start("me")
		one, two := address("www", "192.0.2.1"), address("www", "192.0.2.2")
		p.change(dns.Change{New: one})
		p.ours(one)
		p = s.start("me")
		p.ours(one)
		p.change(dns.Change{Old: p.current(one), New: two})
		p.ours(two)
		p.change(dns.Change{Old: p.current(two)})
		s.put(othersRecord("www"))
		p.stays(othersRecord("www"))
	}},
	{"its labels are kept", func(s *sharedZone) {
		p := s.start("me")
		r := address("www", "192.0.2.1")
		p.change(dns.Change{New: r})
		moved := r.Clone()
		moved.Labels[dns.LabelResource] = "ingress/default/www"
		p.change(dns.Change{Old: p.current(r), New: moved})
		for _, p := range []*process{p, s.start("me")} {
			if labels, _ := p.owner.Labels(p.lookup, p.current(r)); labels[dns.LabelResource] != "ingress/default/www" {
				s.t.Errorf("labels %v, want those that were written last", labels)
			}
		}
	}},
	{"a person is faster", func(s *sharedZone) {
		p := s.start("me")
		s.put(othersRecord("www"))
		if _, err := p.try(outcome{}, dns.Change{New: address("www", "192.0.2.1")}); !errors.Is(err, provider.ErrStale) {
			s.t.Fatalf("error %v, want that the change is stale", err)
		}
		p.stays(othersRecord("www"))
	}},
	{"a person makes the same, faster", func(s *sharedZone) {
		p := s.start("me")
		s.put(address("www", "192.0.2.1"))
		if _, err := p.try(outcome{}, dns.Change{New: address("www", "192.0.2.1")}); !errors.Is(err, provider.ErrStale) {
			s.t.Fatalf("error %v, want that the change is stale", err)
		}
		p.stays(address("www", "192.0.2.1"))
	}},
	{"refused", func(s *sharedZone) { notMade(s, fmt.Errorf("no: %w", provider.ErrRejected)) }},
	{"throttled", func(s *sharedZone) { notMade(s, &provider.ThrottledError{}) }},
	{"no credentials", func(s *sharedZone) { notMade(s, provider.ErrCredentials) }},
	{"nothing made, and nobody knows", func(s *sharedZone) { notMade(s, errLost) }},
	{"made, and the answer is lost", func(s *sharedZone) {
		p := s.start("me")
		one, two := address("www", "192.0.2.1"), address("www", "192.0.2.2")
		_, _ = p.try(outcome{answer: errLost}, dns.Change{New: one})
		p.list()
		p.ours(one)
		_, _ = p.try(outcome{answer: errLost}, dns.Change{Old: p.current(one), New: two})
		p.list()
		p.ours(two)
		s.start("me").ours(two)
		_, _ = p.try(outcome{answer: errLost}, dns.Change{Old: p.current(two)})
		for range 3 {
			p.list()
		}
		s.put(othersRecord("www"))
		p.stays(othersRecord("www"))
	}},
	{"an update isn't made", func(s *sharedZone) {
		for _, answer := range []error{errLost, provider.ErrRejected, provider.ErrStale} {
			p := s.start("me")
			one, two := address("www", "192.0.2.1"), address("www", "192.0.2.2")
			p.change(dns.Change{New: one})
			_, _ = p.try(outcome{only: true, answer: answer}, dns.Change{Old: p.current(one), New: two})
			p.list()
			p.ours(one)
			p = s.start("me")
			p.ours(one)
			p.change(dns.Change{Old: p.current(one)})
		}
	}},
	{"a crash between claim and record", func(s *sharedZone) {
		p := s.start("me")
		// A registry in the zone has created the ownership record.
		claimed := 0
		if s.fixture.Left == nil {
			claimed = 1
		}
		_, _ = p.try(outcome{only: true, made: claimed, answer: errLost, crash: true}, dns.Change{New: address("www", "192.0.2.1")})
		p = s.start("me")
		for range 3 {
			p.list()
		}
		s.put(othersRecord("www"))
		p.stays(othersRecord("www"))
	}},
	{"a crash between record and confirmation", func(s *sharedZone) {
		p := s.start("me")
		one, two := address("www", "192.0.2.1"), address("www", "192.0.2.2")
		_, _ = p.try(outcome{crash: true}, dns.Change{New: one})
		p = s.start("me")
		p.ours(one)
		_, _ = p.try(outcome{crash: true}, dns.Change{Old: p.current(one), New: two})
		p = s.start("me")
		p.ours(two)
		_, _ = p.try(outcome{crash: true}, dns.Change{Old: p.current(two)})
		p = s.start("me")
		for range 3 {
			p.list()
		}
		s.put(othersRecord("www"))
		p.stays(othersRecord("www"))
	}},
	{"its record is gone", func(s *sharedZone) {
		p := s.start("me")
		r := address("www", "192.0.2.1")
		p.change(dns.Change{New: r})
		s.remove(r)
		for range 4 {
			p.list()
		}
		s.put(othersRecord("www"))
		p.stays(othersRecord("www"))
	}},
	{"a listing is late", func(s *sharedZone) {
		p := s.start("me")
		early := p.records
		one, two := address("www", "192.0.2.1"), address("www", "192.0.2.2")
		p.change(dns.Change{New: one})
		p.listed(early)
		p.list()
		p.ours(one)
		s.start("me").ours(one)
		// The record in the late listing is created again.
		p.listed(early)
		if _, err := p.try(outcome{}, dns.Change{New: two}); !errors.Is(err, provider.ErrStale) {
			s.t.Fatalf("error %v, want that the change is stale", err)
		}
		p.list()
		p.ours(one)
		s.start("me").ours(one)
	}},
	{"edited by a person", func(s *sharedZone) {
		p := s.start("me")
		p.change(dns.Change{New: address("www", "192.0.2.1")})
		s.put(othersRecord("www"))
		p.list()
		p.ours(othersRecord("www"))
		s.start("me").ours(othersRecord("www"))
	}},
	{"renamed", func(s *sharedZone) {
		p := s.start("me")
		r, renamed := address("www", "192.0.2.1"), address("web", "192.0.2.1")
		p.change(dns.Change{New: r})
		p.change(dns.Change{Old: p.current(r)}, dns.Change{New: renamed})
		p.ours(renamed)
		s.put(othersRecord("www"))
		p.stays(othersRecord("www"))
		p.ours(renamed)
	}},
	{"a new owner", func(s *sharedZone) {
		p := s.start("old")
		r := address("www", "192.0.2.1")
		p.change(dns.Change{New: r})
		next := s.migrate("me", "old")
		next.change(dns.Change{Old: next.current(r), New: r})
		next.ours(r)
		s.start("me").ours(r)
		s.start("old").notOurs(r)
	}},
	{"two types", func(s *sharedZone) {
		p := s.start("me")
		four := address("www", "192.0.2.1")
		six := &dns.RecordSet{Name: four.Name, Type: dns.TypeAAAA, Targets: []string{"2001:db8::1"}, TTL: 300}
		p.change(dns.Change{New: four})
		s.put(six)
		p.list()
		p.ours(four)
		p.notOurs(six)
		p.change(dns.Change{Old: p.current(four)})
		p.stays(six)
	}},
	{"two owners of one name", func(s *sharedZone) {
		one, two := s.start("one"), s.start("two")
		r := address("www", "192.0.2.1")
		one.change(dns.Change{New: r})
		two.list()
		two.notOurs(r)
		four := address("www", "192.0.2.4")
		four.Type, four.Targets = dns.TypeAAAA, []string{"2001:db8::1"}
		two.change(dns.Change{New: four})
		two.ours(four)
		one.list()
		one.ours(r)
		one.notOurs(four)
	}},
	{"two processes of one owner in a row", func(s *sharedZone) {
		one := s.start("me")
		r, changed := address("www", "192.0.2.1"), address("www", "192.0.2.2")
		one.change(dns.Change{New: r})
		two := s.start("me")
		two.ours(r)
		two.change(dns.Change{Old: two.current(r), New: changed})
		one.list()
		one.ours(changed)
		two.change(dns.Change{Old: two.current(changed)})
		s.put(othersRecord("www"))
		two.stays(othersRecord("www"))
	}},
	{"some of a batch", func(s *sharedZone) {
		p := s.start("me")
		a, b := address("a", "192.0.2.1"), address("b", "192.0.2.1")
		s.put(othersRecord("b"))
		var each *provider.ApplyError
		if _, err := p.try(outcome{}, dns.Change{New: a}, dns.Change{New: b}); !errors.As(err, &each) {
			s.t.Fatalf("error %v, want one for each change", err)
		}
		p.list()
		p.ours(a)
		p.stays(othersRecord("b"))
		s.start("me").ours(a)
	}},
}

// notMade is about a record whose creation fails, and that another writer then creates.
func notMade(s *sharedZone, answer error) {
	p := s.start("me")
	r := address("www", "192.0.2.1")
	if _, err := p.try(outcome{only: true, answer: answer}, dns.Change{New: r}); err == nil {
		s.t.Fatal("the change was made")
	}
	s.put(othersRecord("www"))
	p.stays(othersRecord("www"))
	s.remove(othersRecord("www"))
	for range 3 {
		p.list()
	}
	p.change(dns.Change{New: r})
	p.ours(r)
}

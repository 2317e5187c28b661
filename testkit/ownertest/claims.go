package ownertest

import "github.com/signpostd/signpost/dns"

// outside are scenarios for registries outside of zones. Registries in the zone skip them.
var outside = []scenario{
	{"a crash, and a person before the next listing", keptOutside(func(s *sharedZone) {
		p := s.start("me")
		_, _ = p.try(outcome{only: true, answer: errLost, crash: true}, dns.Change{New: address("www", "192.0.2.1")})
		s.put(othersRecord("www"))
		s.start("me").stays(othersRecord("www"))
	})},
	{"its record is gone, and each process lists once", keptOutside(func(s *sharedZone) {
		r := address("www", "192.0.2.1")
		s.start("me").change(dns.Change{New: r})
		s.remove(r)
		s.start("me")
		s.put(othersRecord("www"))
		s.start("me").stays(othersRecord("www"))
	})},
	{"nothing is left", keptOutside(func(s *sharedZone) {
		p := s.start("me")
		made, gone, open := address("made", "192.0.2.1"), address("gone", "192.0.2.1"), address("open", "192.0.2.1")
		p.change(dns.Change{New: made}, dns.Change{New: gone})
		s.remove(gone)
		_, _ = p.try(outcome{only: true, answer: errLost}, dns.Change{New: open})
		p.change(dns.Change{Old: p.current(made)})
		for range 3 {
			p.list()
		}
		if left := s.fixture.Left(); left != 0 {
			s.t.Errorf("%d claims are left, want none", left)
		}
	})},
	{"what ExternalDNS has made", keptOutside(func(s *sharedZone) {
		r := address("www", "192.0.2.1")
		s.fixture.Plant("me", r)
		s.put(r)
		p := s.start("me")
		p.ours(r)
		two := address("www", "192.0.2.2")
		p.change(dns.Change{Old: p.current(r), New: two})
		s.start("me").ours(two)
	})},
	{"what ExternalDNS has left", keptOutside(func(s *sharedZone) {
		s.fixture.Plant("me", address("www", "192.0.2.1"))
		p := s.start("me")
		s.put(othersRecord("www"))
		p.stays(othersRecord("www"))
	})},
}

// keptOutside returns a scenario that registries in the zone skip.
func keptOutside(play func(s *sharedZone)) func(s *sharedZone) {
	return func(s *sharedZone) {
		if s.fixture.Left == nil {
			s.t.Skip("the owner keeps ownership in the zone")
		}
		play(s)
	}
}

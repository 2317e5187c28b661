package publisher

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signpostd/signpost/dns"
)

// A name that an approval leaves out keeps its records, whatever happens to the name meanwhile, until it is
// approved or would lose nothing any more.
func TestExceptedNameStaysHeld(t *testing.T) {
	for name, between := range map[string]func(s *fixture){
		"nothing":         func(*fixture) {},
		"another restart": func(s *fixture) { s.stop(); s.start(); waitIdle() },
		"another type of the name is updated": func(s *fixture) {
			s.objects.set("v4", record(s.t, "v4", "n0.shop.test", "A", "192.0.2.9"))
		},
		"the record is edited by hand": func(s *fixture) {
			old := s.zones.Get(dns.Key{Name: "n0.shop.test", Type: "AAAA"})
			edited := old.Clone()
			edited.Targets = []string{"2001:db8::9"}
			s.byHand(dns.Change{Old: old, New: edited})
			time.Sleep(2 * DefaultInterval)
		},
		"its object can't be evaluated for a moment": func(s *fixture) {
			s.objects.fail("v6", errors.New("no template"))
			waitIdle()
			s.objects.set("v6")
		},
		"its object can't be evaluated at a restart": func(s *fixture) {
			s.objects.fail("v6", errors.New("no template"))
			s.stop()
			s.start()
			time.Sleep(2 * DefaultInterval)
			s.objects.set("v6")
		},
		"a zone below is added": func(s *fixture) {
			s.createZone("eu.shop.test")
			time.Sleep(2 * DefaultInterval)
		},
		"a restart and an update at once": func(s *fixture) {
			s.stop()
			s.objects.set("v4", record(s.t, "v4", "n0.shop.test", "A", "192.0.2.9"))
			s.start()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { playExcepted(t, between) })
		})
	}
}

func playExcepted(t *testing.T, between func(s *fixture)) {
	s := newFilled(t)
	defer func() { s.stop() }()
	s.change = func(c *Config) { c.DeletionDelay = 5 * time.Second }
	s.objects.set("o0")
	s.objects.set("v4", record(t, "v4", "n0.shop.test", "A", "192.0.2.1"))
	s.objects.set("v6", record(t, "v6", "n0.shop.test", "AAAA", "2001:db8::1"))
	waitIdle()
	s.stop()
	s.start()
	waitIdle()
	s.inOnePass(func() {
		s.objects.set("v6")
		for i := 1; i < 50; i++ {
			s.objects.set(fmt.Sprint("o", i))
		}
	})
	time.Sleep(6 * time.Second)
	if _, err := s.queue.Approve(t.Context(), s.hash(50), []string{"n0.shop.test"}); err != nil {
		t.Fatal(err)
	}
	waitIdle()
	between(s)
	time.Sleep(20 * time.Minute)
	if s.zones.Get(dns.Key{Name: "n0.shop.test", Type: "AAAA"}) == nil {
		t.Fatal("the name that was left out lost a record without approval")
	}
	if _, err := s.queue.Approve(t.Context(), s.hash(1), nil); err != nil {
		t.Fatal(err)
	}
	waitIdle()
	if s.zones.Get(dns.Key{Name: "n0.shop.test", Type: "AAAA"}) != nil {
		t.Error("the approved deletion isn't made")
	}
}

package reconcile

import (
	"testing"
	"time"
)

// TestLanes shows which Services wait for a place, with four places, of which a namespace has one. None is lost, and
// none is returned twice.
func TestLanes(t *testing.T) {
	l, now := newLanes(1), time.Now()
	key := func(text string) Key { return Key{Namespace: text[:1], Name: text[1:]} }
	begin := func(text string, want bool) {
		t.Helper()
		if got := l.begin(key(text), now); got != want {
			t.Errorf("%s begins: %t", text, got)
		}
	}
	end := func(text, want string) {
		t.Helper()
		next, ok := l.end(key(text))
		if got := next.Namespace + next.Name; got != want || ok != (want != "") {
			t.Errorf("after %s comes %q, want %q", text, got, want)
		}
	}
	for _, slow := range []string{"a1", "b1", "c1", "d1"} {
		if !l.isSlow(key(slow), now) {
			t.Errorf("no place for %s", slow)
		}
	}
	begin("a2", false)
	begin("a2", false)
	if l.isSlow(key("e1"), now) || !l.isStuck(key("e1")) || l.isStuck(key("d1")) || l.isSlow(key("d1"), now) {
		t.Error("there is no place for a fifth Service, and no second one for the fourth")
	}
	begin("e1", false)
	begin("f1", true) // not slow
	end("b1", "e1")   // a has a place
	begin("b1", true)
	begin("e1", false) // b was faster
	end("a1", "a2")
	begin("a2", true)
	end("a2", "e1")
	begin("e1", true)
	for _, last := range []string{"b1", "c1", "d1", "e1", "f1"} {
		end(last, "")
	}
	if len(l.placed)+len(l.places)+len(l.waits)+l.parked.Len() > 0 {
		t.Errorf("in the end there are %+v", l)
	}
	l.isSlow(key("g1"), now.Add(slowPeriod))
	if len(l.slow) != 1 {
		t.Errorf("%d namespaces are slow after the period, want 1", len(l.slow))
	}
}

// While fewer syncs are slow than there are workers, a namespace has several places.
func TestSecondPlace(t *testing.T) {
	l, now := newLanes(2), time.Now()
	a := func(name string) Key { return Key{Namespace: "a", Name: name} }
	if !l.isSlow(a("1"), now) || l.isSlow(a("1"), now) || !l.begin(a("2"), now) || l.begin(a("3"), now) {
		t.Errorf("%d Services of the namespace have a place, want 2", len(l.placed))
	}
}

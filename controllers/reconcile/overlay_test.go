package reconcile

import (
	"cmp"
	"strconv"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

var web = Key{Namespace: "ns", Name: "web"}

func slice(uid string, version int) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "web-1", UID: types.UID(uid), ResourceVersion: strconv.Itoa(version),
	}}
}

// table is a table that shows an object, as an overlay sees it.
type table struct {
	object  *discoveryv1.EndpointSlice
	version int
}

func (t *table) overlay() *Overlay[*discoveryv1.EndpointSlice] {
	return NewOverlay[*discoveryv1.EndpointSlice](func() string {
		if t.version == 0 {
			return ""
		}
		return strconv.Itoa(t.version)
	}, func(_ Key, name string, uid types.UID) bool {
		return t.object != nil && t.object.Name == name && t.object.UID == uid
	})
}

func (t *table) read(o *Overlay[*discoveryv1.EndpointSlice]) *discoveryv1.EndpointSlice {
	var stored []*discoveryv1.EndpointSlice
	if t.object != nil {
		stored = append(stored, t.object)
	}
	if stored = o.Merge(web, func() []*discoveryv1.EndpointSlice { return stored }); len(stored) == 0 {
		return nil
	}
	return stored[0]
}

func expect(t *testing.T, o *Overlay[*discoveryv1.EndpointSlice], tab *table, version string) {
	t.Helper()
	got := ""
	if e := tab.read(o); e != nil {
		got = e.ResourceVersion
	}
	if got != version {
		t.Errorf("read version %q, want %q", got, version)
	}
}

// The table catches up with a write after its list was read.
func TestWriteIsReadWhileTheTableCatchesUp(t *testing.T) {
	tab := &table{version: 3}
	o := tab.overlay()
	o.Begin(web, "web-1")
	o.Wrote(web, slice("a", 5))
	got := o.Merge(web, func() []*discoveryv1.EndpointSlice {
		tab.version = 5
		o.Arrived(web, slice("a", 5))
		return nil
	})
	if len(got) != 1 || got[0].ResourceVersion != "5" {
		t.Errorf("read %v, want the slice that was written", got)
	}
}

// EP-83, ES-17, EP-81: what was written is read until the table has it.
func TestWriteIsReadAtOnce(t *testing.T) {
	tab := &table{object: slice("a", 5), version: 7}
	o := tab.overlay()
	o.Begin(web, "web-1")
	expect(t, o, tab, "5")
	if o.Wrote(web, slice("a", 9)) != Untouched {
		t.Error("nobody else wrote, but the write says so")
	}
	expect(t, o, tab, "9")
	tab.version = 8 // something else happened
	expect(t, o, tab, "9")
	tab.object, tab.version = slice("a", 9), 9
	if o.Arrived(web, tab.object) != Untouched {
		t.Error("the own write arrived and was taken for another's")
	}
	expect(t, o, tab, "9")
	if len(o.writes) != 0 {
		t.Error("the overlay keeps what the table has")
	}
}

// AD-06: a create is read before the table has it.
func TestCreateIsReadAtOnce(t *testing.T) {
	tab := &table{version: 3}
	o := tab.overlay()
	o.Begin(web, "web-1")
	o.Wrote(web, slice("a", 4))
	expect(t, o, tab, "4")
}

// AD-07, X12: an object that vanished without the table ever having shown it is not
// remembered for ever.
func TestVanishedObjectIsForgotten(t *testing.T) {
	tab := &table{version: 3}
	o := tab.overlay()
	o.Begin(web, "web-1")
	o.Wrote(web, slice("a", 4))
	tab.version = 6 // a listing without it
	expect(t, o, tab, "")
}

// EP-80: a delete is known before the table knows it, and says nothing of a new object of
// that name.
func TestDeleteIsReadAtOnce(t *testing.T) {
	tab := &table{object: slice("a", 5), version: 7}
	o := tab.overlay()
	o.Begin(web, "web-1")
	o.Deleted(web, tab.object)
	expect(t, o, tab, "")
	tab.object, tab.version = slice("b", 9), 9
	if o.Arrived(web, tab.object) == Untouched {
		t.Error("a new object of that name was taken for an own write")
	}
	expect(t, o, tab, "9")
}

// When the event of a deletion came before the request that deletes, as when the API server
// deletes the Endpoints of a Service itself, an entry stayed until the end of the term.
func TestC6DeletionsThatTheTableKnowsAreForgotten(t *testing.T) {
	tab := &table{version: 10}
	o := tab.overlay()
	for i := range 2000 {
		key := Key{Namespace: "ns", Name: strconv.Itoa(i)}
		ep := slice(strconv.Itoa(i), 9)
		ep.Name = key.Name
		o.Gone(key, ep)
		o.Begin(key, ep.Name)
		o.Deleted(key, ep)
	}
	if len(o.writes) != 0 {
		t.Errorf("the overlay keeps %d entries, want none", len(o.writes))
	}
}

// What was written, and then deleted while the watch was interrupted, is forgotten with the
// next read.
func TestC6WritesThatTheTableHasPassedAreForgotten(t *testing.T) {
	tab := &table{version: 3}
	o := tab.overlay()
	o.Begin(web, "web-1")
	o.Wrote(web, slice("a", 4))
	expect(t, o, tab, "4")
	tab.version = 6 // a listing without it
	expect(t, o, tab, "")
	if len(o.writes) != 0 {
		t.Error("the overlay keeps what the table has passed")
	}
}

// An object that was made and deleted before the table has heard of it is not shown when it
// comes, and is then forgotten.
func TestC6DeletionsThatTheTableDoesNotKnowAreRemembered(t *testing.T) {
	tab := &table{version: 3}
	o := tab.overlay()
	o.Begin(web, "web-1")
	o.Wrote(web, slice("a", 4))
	o.Begin(web, "web-1")
	o.Deleted(web, slice("a", 4))
	tab.object, tab.version = slice("a", 4), 4
	if o.Arrived(web, tab.object) != Untouched {
		t.Error("an object that this process has deleted was taken for another's")
	}
	expect(t, o, tab, "")
	old := tab.object
	tab.object, tab.version = nil, 5
	if o.Gone(web, old) != Untouched || len(o.writes) != 0 {
		t.Error("the deletion was taken for another's, or is remembered")
	}
}

func TestWhoDidIt(t *testing.T) {
	type overlay = Overlay[*discoveryv1.EndpointSlice]
	for _, test := range []struct {
		name string
		do   func(*overlay, *table) ExternalChange
		want ExternalChange
	}{
		{"arrives before the answer", func(o *overlay, tab *table) ExternalChange {
			o.Begin(web, "web-1")
			tab.version = 9
			return cmp.Or(o.Arrived(web, slice("a", 9)), o.Wrote(web, slice("a", 9)))
		}, Untouched},
		{"somebody else before the answer", func(o *overlay, tab *table) ExternalChange {
			o.Begin(web, "web-1")
			tab.version = 10
			return cmp.Or(o.Arrived(web, slice("a", 10)), o.Wrote(web, slice("a", 9)))
		}, Changed},
		{"deleted by somebody else before the answer", func(o *overlay, tab *table) ExternalChange {
			o.Begin(web, "web-1")
			tab.version = 10
			return cmp.Or(o.Gone(web, slice("a", 9)), o.Wrote(web, slice("a", 9)))
		}, Lost},
		{"somebody else while a write fails", func(o *overlay, tab *table) ExternalChange {
			o.Begin(web, "web-1")
			tab.version = 10
			return cmp.Or(o.Arrived(web, slice("a", 10)), o.Failed(web, "web-1"))
		}, Changed},
		{"deleted by somebody else while a write fails", func(o *overlay, tab *table) ExternalChange {
			o.Begin(web, "web-1")
			tab.version = 10
			return cmp.Or(o.Gone(web, slice("a", 5)), o.Failed(web, "web-1"))
		}, Lost},
		{"a write fails", func(o *overlay, _ *table) ExternalChange {
			o.Begin(web, "web-1")
			return o.Failed(web, "web-1")
		}, Untouched},
		{"somebody else after the write", func(o *overlay, _ *table) ExternalChange {
			o.Begin(web, "web-1")
			o.Wrote(web, slice("a", 9))
			return cmp.Or(o.Arrived(web, slice("a", 9)), o.Arrived(web, slice("a", 10)))
		}, Changed},
		{"an older version after the write", func(o *overlay, _ *table) ExternalChange {
			o.Begin(web, "web-1")
			o.Wrote(web, slice("a", 9))
			return o.Arrived(web, slice("a", 8))
		}, Untouched},
		{"own delete", func(o *overlay, _ *table) ExternalChange {
			o.Begin(web, "web-1")
			o.Deleted(web, slice("a", 5))
			return o.Gone(web, slice("a", 5))
		}, Untouched},
		{"own delete, gone before the answer", func(o *overlay, _ *table) ExternalChange {
			o.Begin(web, "web-1")
			what := o.Gone(web, slice("a", 5))
			o.Deleted(web, slice("a", 5))
			return cmp.Or(what, ExternalChange(len(o.writes)))
		}, Untouched},
		{"own delete, an update that came before arrives after", func(o *overlay, _ *table) ExternalChange {
			o.Begin(web, "web-1")
			o.Deleted(web, slice("a", 5))
			return cmp.Or(o.Arrived(web, slice("a", 6)), o.Gone(web, slice("a", 6)))
		}, Untouched},
		{"somebody else's delete", func(o *overlay, _ *table) ExternalChange { return o.Gone(web, slice("a", 5)) }, Lost},
		{"somebody else's delete of what was written", func(o *overlay, _ *table) ExternalChange {
			o.Begin(web, "web-1")
			o.Wrote(web, slice("a", 9))
			return o.Gone(web, slice("a", 9)) + ExternalChange(len(o.writes))
		}, Lost},
		{"a new term", func(o *overlay, _ *table) ExternalChange {
			o.Begin(web, "web-1")
			o.Wrote(web, slice("a", 9))
			o.Forget()
			return o.Arrived(web, slice("a", 9))
		}, Changed},
	} {
		t.Run(test.name, func(t *testing.T) {
			tab := &table{object: slice("a", 5), version: 7}
			if got := test.do(tab.overlay(), tab); got != test.want {
				t.Errorf("external changes are %d, want %d", got, test.want)
			}
		})
	}
}

// server is one object of an API server, with a watch that lags behind.
type server struct {
	version int
	object  *discoveryv1.EndpointSlice
	lag     []*discoveryv1.EndpointSlice // versions that the table doesn't have yet; a deleted one has no labels but "gone"
}

func (s *server) set(object *discoveryv1.EndpointSlice) {
	event := object
	if object == nil {
		event = s.object.DeepCopy()
		event.ResourceVersion = strconv.Itoa(s.version)
		event.Labels = map[string]string{"gone": ""}
	}
	s.object = object
	s.lag = append(s.lag, event)
}

// However writes, answers and events interleave, a read is never older than the last
// write that was answered, and at rest it is what the server has. Every change that
// somebody else made, and that no write followed, is reported.
func TestOverlayAgainstServer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, tab := &server{version: 1}, &table{version: 1}
		o := tab.overlay()
		uids := 0
		told := true // the last change is known to this process
		write := func() {
			s.version++
			if s.object == nil {
				uids++
				s.set(slice(strconv.Itoa(uids), s.version))
			} else {
				s.set(slice(string(s.object.UID), s.version))
			}
		}
		deliver := func() {
			e := s.lag[0]
			s.lag = s.lag[1:]
			version, _ := strconv.Atoi(e.ResourceVersion)
			if _, gone := e.Labels["gone"]; gone {
				old := tab.object
				tab.object, tab.version = nil, version
				told = o.Gone(web, old) != Untouched || told
				return
			}
			tab.object, tab.version = e, version
			told = o.Arrived(web, e) != Untouched || told
		}
		some := func(t *rapid.T) {
			for range rapid.IntRange(0, len(s.lag)).Draw(t, "delivered") {
				deliver()
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"own write": func(t *rapid.T) {
				o.Begin(web, "web-1")
				write()
				mine := s.object
				told = true
				if rapid.Bool().Draw(t, "then somebody else") {
					write()
					told = false
				}
				some(t)
				told = o.Wrote(web, mine) != Untouched || told
			},
			"failed write": func(t *rapid.T) {
				o.Begin(web, "web-1")
				some(t)
				told = o.Failed(web, "web-1") != Untouched || told
			},
			"own delete": func(t *rapid.T) {
				if s.object == nil {
					t.Skip("nothing to delete")
				}
				o.Begin(web, "web-1")
				s.version++
				mine := s.object
				s.set(nil)
				told = true
				some(t)
				o.Deleted(web, mine)
			},
			"somebody else writes": func(*rapid.T) { write(); told = false },
			"somebody else deletes": func(t *rapid.T) {
				if s.object == nil {
					t.Skip("nothing to delete")
				}
				s.version++
				s.set(nil)
				told = false
			},
			"events": some,
		})
		for len(s.lag) > 0 {
			deliver()
		}
		got, want := tab.read(o), s.object
		if (got == nil) != (want == nil) || got != nil && got.ResourceVersion != want.ResourceVersion {
			t.Fatalf("at rest the overlay reads %v, the server has %v", got, want)
		}
		if !told {
			t.Fatal("somebody else made the last change, and nobody was told")
		}
	})
}

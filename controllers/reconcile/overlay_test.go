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

// table is a table with at most one object.
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

// A write is read even if the table catches up with it while the list is read.
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

// A write is read at once, before the table has it (EP-83, ES-17, EP-81).
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

// A created object is read before the table has it (AD-06).
func TestCreateIsReadAtOnce(t *testing.T) {
	tab := &table{version: 3}
	o := tab.overlay()
	o.Begin(web, "web-1")
	o.Wrote(web, slice("a", 4))
	expect(t, o, tab, "4")
}

// A written object that a later listing lacks is forgotten (AD-07, X12).
func TestWriteMissingFromListingIsForgotten(t *testing.T) {
	tab := &table{version: 3}
	o := tab.overlay()
	o.Begin(web, "web-1")
	o.Wrote(web, slice("a", 4))
	tab.version = 6 // a listing without it
	expect(t, o, tab, "")
}

// A delete takes effect before the table sees it, and doesn't hide a new object of that name (EP-80).
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

// A delete whose event arrives before the request, as when the API server deletes the Endpoints of a Service
// itself, leaves no entry in the overlay.
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

// An object that was written, and then deleted while the watch was interrupted, is forgotten with the next
// read.
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

// An object that was created and deleted before the table has seen it stays hidden when its event arrives,
// and is then forgotten.
func TestC6DeletionsThatTheTableDoesNotKnowAreRemembered(t *testing.T) {
	tab := &table{version: 3}
	o := tab.overlay()
	o.Begin(web, "web-1")
	o.Wrote(web, slice("a", 4))
	o.Begin(web, "web-1")
	o.Deleted(web, slice("a", 4))
	expect(t, o, tab, "")
	tab.object, tab.version = slice("a", 4), 4
	if o.Arrived(web, tab.object) != Untouched {
		t.Error("an object that this process has deleted was taken for another's")
	}
	expect(t, o, tab, "")
	old := tab.object
	tab.object, tab.version = nil, 5
	if o.Gone(web, old) != Untouched || len(o.writes) != 0 {
		t.Error("the deletion was reported as external, or is remembered")
	}
}

func TestExternalChanges(t *testing.T) {
	type overlay = Overlay[*discoveryv1.EndpointSlice]
	for _, test := range []struct {
		name string
		do   func(*overlay, *table) ExternalChange
		want ExternalChange
	}{
		{"event before the response", func(o *overlay, tab *table) ExternalChange {
			o.Begin(web, "web-1")
			tab.version = 9
			return cmp.Or(o.Arrived(web, slice("a", 9)), o.Wrote(web, slice("a", 9)))
		}, Untouched},
		{"external update before the response", func(o *overlay, tab *table) ExternalChange {
			o.Begin(web, "web-1")
			tab.version = 10
			return cmp.Or(o.Arrived(web, slice("a", 10)), o.Wrote(web, slice("a", 9)))
		}, Changed},
		{"event before the response, and an external update after it", func(o *overlay, _ *table) ExternalChange {
			o.Begin(web, "web-1")
			o.Arrived(web, slice("a", 9))
			o.Wrote(web, slice("a", 9))
			return o.Arrived(web, slice("a", 10))
		}, Changed},
		{"external updates before and after the response", func(o *overlay, _ *table) ExternalChange {
			o.Begin(web, "web-1")
			o.Arrived(web, slice("a", 10))
			o.Wrote(web, slice("a", 9))
			return o.Arrived(web, slice("a", 11))
		}, Changed},
		{"external delete before the response, and an external object after it", func(o *overlay, _ *table) ExternalChange {
			o.Begin(web, "web-1")
			o.Gone(web, slice("a", 9))
			o.Wrote(web, slice("a", 9))
			return o.Arrived(web, slice("b", 11))
		}, Changed},
		{"a read between the change of the table and the event", func(o *overlay, tab *table) ExternalChange {
			o.Begin(web, "web-1")
			o.Wrote(web, slice("a", 9))
			tab.object, tab.version = slice("a", 9), 9
			tab.read(o)
			return o.Arrived(web, slice("a", 9))
		}, Untouched},
		{"a read during the second write of an object that the table lacks", func(o *overlay, tab *table) ExternalChange {
			o.Begin(web, "web-1")
			o.Wrote(web, slice("a", 9))
			tab.object, tab.version = nil, 10
			o.Begin(web, "web-1")
			tab.read(o)
			o.Wrote(web, slice("b", 12))
			return o.Arrived(web, slice("b", 12))
		}, Untouched},
		{"own delete and create, and then the event of the delete", func(o *overlay, _ *table) ExternalChange {
			o.Begin(web, "web-1")
			o.Deleted(web, slice("a", 5))
			o.Begin(web, "web-1")
			o.Wrote(web, slice("b", 9))
			o.Gone(web, slice("a", 5))
			return o.Arrived(web, slice("b", 9))
		}, Untouched},
		{"external delete before the response", func(o *overlay, tab *table) ExternalChange {
			o.Begin(web, "web-1")
			tab.version = 10
			return cmp.Or(o.Gone(web, slice("a", 9)), o.Wrote(web, slice("a", 9)))
		}, Lost},
		{"external update while a write fails", func(o *overlay, tab *table) ExternalChange {
			o.Begin(web, "web-1")
			tab.version = 10
			return cmp.Or(o.Arrived(web, slice("a", 10)), o.Failed(web, "web-1"))
		}, Changed},
		{"external delete while a write fails", func(o *overlay, tab *table) ExternalChange {
			o.Begin(web, "web-1")
			tab.version = 10
			return cmp.Or(o.Gone(web, slice("a", 5)), o.Failed(web, "web-1"))
		}, Lost},
		{"a write fails", func(o *overlay, _ *table) ExternalChange {
			o.Begin(web, "web-1")
			return o.Failed(web, "web-1")
		}, Untouched},
		{"external update after the write", func(o *overlay, _ *table) ExternalChange {
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
		{"own delete, event before the response", func(o *overlay, _ *table) ExternalChange {
			o.Begin(web, "web-1")
			what := o.Gone(web, slice("a", 5))
			o.Deleted(web, slice("a", 5))
			return cmp.Or(what, ExternalChange(len(o.writes)))
		}, Untouched},
		{"own delete, event of an earlier update after it", func(o *overlay, _ *table) ExternalChange {
			o.Begin(web, "web-1")
			o.Deleted(web, slice("a", 5))
			return cmp.Or(o.Arrived(web, slice("a", 6)), o.Gone(web, slice("a", 6)))
		}, Untouched},
		{"external delete", func(o *overlay, _ *table) ExternalChange { return o.Gone(web, slice("a", 5)) }, Lost},
		{"external delete of a written object", func(o *overlay, _ *table) ExternalChange {
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

// server is an API server with one object and a delayed watch.
type server struct {
	version     int
	object      *discoveryv1.EndpointSlice
	undelivered []*discoveryv1.EndpointSlice // versions that the table doesn't have yet; a deleted one has no labels but "gone"
}

func (s *server) set(object *discoveryv1.EndpointSlice) {
	event := object
	if object == nil {
		event = s.object.DeepCopy()
		event.ResourceVersion = strconv.Itoa(s.version)
		event.Labels = map[string]string{"gone": ""}
	}
	s.object = object
	s.undelivered = append(s.undelivered, event)
}

// Whatever the order of writes, responses and events, a read is never older than the last write with a
// response, and after all events it equals the object of the server. Every external change that no own write
// follows is reported.
func TestOverlayAgainstServer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, tab := &server{version: 1}, &table{version: 1}
		o := tab.overlay()
		uids := 0
		reported := true // the last change is our own, or was reported
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
			e := s.undelivered[0]
			s.undelivered = s.undelivered[1:]
			version, _ := strconv.Atoi(e.ResourceVersion)
			if _, gone := e.Labels["gone"]; gone {
				old := tab.object
				tab.object, tab.version = nil, version
				reported = o.Gone(web, old) != Untouched || reported
				return
			}
			tab.object, tab.version = e, version
			reported = o.Arrived(web, e) != Untouched || reported
		}
		deliverSome := func(t *rapid.T) {
			for range rapid.IntRange(0, len(s.undelivered)).Draw(t, "delivered") {
				deliver()
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"own write": func(t *rapid.T) {
				o.Begin(web, "web-1")
				write()
				written := s.object
				reported = true
				if rapid.Bool().Draw(t, "then external write") {
					write()
					reported = false
				}
				deliverSome(t)
				reported = o.Wrote(web, written) != Untouched || reported
			},
			"failed write": func(t *rapid.T) {
				o.Begin(web, "web-1")
				deliverSome(t)
				reported = o.Failed(web, "web-1") != Untouched || reported
			},
			"own delete": func(t *rapid.T) {
				if s.object == nil {
					t.Skip("nothing to delete")
				}
				o.Begin(web, "web-1")
				s.version++
				deleted := s.object
				s.set(nil)
				reported = true
				deliverSome(t)
				o.Deleted(web, deleted)
			},
			"external write": func(*rapid.T) { write(); reported = false },
			"external deletion": func(t *rapid.T) {
				if s.object == nil {
					t.Skip("nothing to delete")
				}
				s.version++
				s.set(nil)
				reported = false
			},
			"events": deliverSome,
		})
		for len(s.undelivered) > 0 {
			deliver()
		}
		got, want := tab.read(o), s.object
		if (got == nil) != (want == nil) || got != nil && got.ResourceVersion != want.ResourceVersion {
			t.Fatalf("after all events the overlay reads %v, the server has %v", got, want)
		}
		if !reported {
			t.Fatal("the last change was external and was not reported")
		}
	})
}

// counted is a slice that counts how often it is asked for its name.
type counted struct {
	*discoveryv1.EndpointSlice
	asked *int
}

// GetName implements metav1.Object.
func (c counted) GetName() string {
	*c.asked++
	return c.Name
}

// The cost of reading the objects of a Service is proportional to their number, also if the table
// has caught up with none of many writes.
func TestManyUnseenWrites(t *testing.T) {
	const n = 300
	asked := 0
	object := func(i, version int) counted {
		e := slice(strconv.Itoa(i), version)
		e.Name = "web-" + strconv.Itoa(i)
		return counted{e, &asked}
	}
	o := NewOverlay[counted](func() string { return "1" }, func(Key, string, types.UID) bool { return true })
	var stored []counted
	for i := range 2 * n {
		if i < n {
			stored = append(stored, object(i, 1))
		}
		o.Begin(web, "web-"+strconv.Itoa(i))
		o.Wrote(web, object(i, 2+i))
	}
	asked = 0
	merged := o.Merge(web, func() []counted { return stored })
	if asked > 10*n {
		t.Errorf("the names of %d objects were read %d times", n, asked)
	}
	if len(merged) != 2*n {
		t.Errorf("%d objects, want %d", len(merged), 2*n)
	}
	for _, m := range merged {
		if m.ResourceVersion == "1" {
			t.Errorf("%s is older than its write", m.Name)
		}
	}
}

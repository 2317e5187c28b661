package history

import (
	"fmt"
	"net/netip"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/signpostd/signpost/testkit/longtest"
)

// clock is a clock that tests set.
type clock struct{ time.Time }

func (c *clock) now() time.Time { return c.Time }

func newClock() *clock { return &clock{time.UnixMilli(1_790_000_000_000)} }

func addr(n int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)}), 8080)
}

// sentEntry returns an entry for a change of one endpoint.
func sentEntry(n int) *Entry {
	return &Entry{Kind: Sent, Action: Updated, Source: "destination", Port: 80, Streams: 20, Places: 1, Endpoints: 3, Added: []netip.AddrPort{addr(n)}, Removed: []netip.AddrPort{addr(n + 1)}}
}

func service(namespace, name string) Key { return Key{Namespace: namespace, Name: name} }

// all returns the entries of a key.
func all(l *Log, key Key) (list []Entry) {
	l.Walk(Scope{Key: &key}, time.Time{}, func(_ Key, e Entry) { list = append(list, e) })
	return list
}

func TestEntriesAreReadAsWritten(t *testing.T) {
	c := newClock()
	key := service("shop", "web")
	want := []Entry{
		{Kind: Sent, Action: Updated, Source: "destination", Port: 8080, Streams: 12, Places: 3, Endpoints: 2, NotReady: 1, Hostname: "db-0", ClientZone: "a", ClientNode: "n1", Added: []netip.AddrPort{addr(1), netip.MustParseAddrPort("[fd00::1]:1")}, Changed: []netip.AddrPort{addr(2)}, Removed: []netip.AddrPort{addr(3)}, MoreAdded: 1, MoreChanged: 2, MoreRemoved: 3},
		{Kind: Record, Action: Failed, Source: "public", Zone: "example.org", Type: "A", SetIdentifier: "eu", TTL: 300, Old: []string{"192.0.2.1"}, New: []string{"192.0.2.2", ""}, Objects: []string{"Service/shop/web"}, Reason: "throttled"},
		{Kind: Written, Action: External, Source: "endpoint_slice", Object: "EndpointSlice/web-1", By: "kubectl"},
		{Kind: Sent, Action: Deleted},
	}
	l := New(DefaultBytes, c.now)
	for i := range want {
		e := want[i]
		l.Add(key, "shop", &e)
		want[i].At = c.Time
		c.Time = c.Add(time.Second - 1_700*time.Millisecond*time.Duration(i%2)) // the clock may go back
		want[i].At = time.UnixMilli(want[i].At.UnixMilli())
	}
	if got := all(l, key); !reflect.DeepEqual(got, want) {
		t.Errorf("read\n%+v\nwant\n%+v", got, want)
	}
}

// Lists and texts are truncated at the limits, and texts never in the middle of a character.
func TestLongEntriesAreTruncated(t *testing.T) {
	l := New(DefaultBytes, newClock().now)
	key := service("shop", "web")
	e := Entry{Kind: Record, Action: Updated, Reason: strings.Repeat("ü", 1<<20), MoreOld: -5}
	for i := range 1000 {
		e.Old, e.New, e.Objects = append(e.Old, strings.Repeat("x", 1<<16)), append(e.New, "y"), append(e.Objects, "z")
		e.Added = append(e.Added, addr(i))
	}
	l.Add(key, "shop", &e)
	got := all(l, key)[0]
	if len(got.Old) != maxTexts || got.MoreOld != 1000-maxTexts-5 || got.MoreNew != 1000-maxTexts || len(got.Objects) != maxTexts || len(got.Added) != MaxAddresses {
		t.Errorf("kept are %d old and %d more, %d more new, %d objects, %d addresses", len(got.Old), got.MoreOld, got.MoreNew, len(got.Objects), len(got.Added))
	}
	if len(got.Old[0]) != maxText || got.Reason != strings.Repeat("ü", maxText/2) {
		t.Errorf("texts of %d bytes, reason %q", len(got.Old[0]), got.Reason)
	}
	if bytes, _ := l.Size(); bytes > baseCost+8<<10 {
		t.Errorf("one entry takes %d bytes", bytes)
	}
	l.Add(Key{Name: strings.Repeat("n", maxKey)}, "shop", sentEntry(1))
	l.Add(Key{Name: "n"}, strings.Repeat("n", maxKey), sentEntry(1))
	if n := len(l.series); n != 1 {
		t.Errorf("%d keys, although two have names longer than any name", n)
	}
}

// heapInUse returns the memory in use.
func heapInUse() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// The memory of a log stays within its limit, as measured by the garbage collector: under 200 changes a
// second for ten minutes, and with any data from tenants.
func TestMemoryStaysWithinTheLimit(t *testing.T) {
	long := strings.Repeat("l", 200)
	for name, test := range map[string]struct {
		limit, changes int
		add            func(l *Log, i int)
	}{
		"200 changes a second for ten minutes": {DefaultBytes, 120_000, func(l *Log, i int) {
			namespace := fmt.Sprintf("team-%d", i%50)
			l.Add(service(namespace, fmt.Sprintf("web-%d", i%2000)), namespace, sentEntry(i))
		}},
		"the same within 1 MiB": {MinBytes, 120_000, func(l *Log, i int) {
			namespace := fmt.Sprintf("team-%d", i%50)
			l.Add(service(namespace, fmt.Sprintf("web-%d", i%2000)), namespace, sentEntry(i))
		}},
		"a million names": {DefaultBytes, 1_000_000, func(l *Log, i int) {
			l.Add(Key{Name: fmt.Sprintf("name-%d.example.org", i)}, "tenant", &Entry{Kind: Record, Action: Created, Zone: "example.org", Type: "A", New: []string{"192.0.2.1"}})
		}},
		"200,000 namespaces": {4 << 20, 200_000, func(l *Log, i int) {
			namespace := fmt.Sprintf("namespace-%d", i)
			l.Add(service(namespace, "web"), namespace, sentEntry(i))
		}},
		"huge names": {4 << 20, 50_000, func(l *Log, i int) {
			l.Add(Key{Name: fmt.Sprintf("%d.%s", i, strings.Repeat("a", 245))}, strings.Repeat("n", 63), sentEntry(i))
		}},
		"long reasons": {4 << 20, 50_000, func(l *Log, i int) {
			l.Add(Key{Name: fmt.Sprintf("name-%d", i%5000)}, fmt.Sprint(i%7), &Entry{Kind: Record, Action: Failed, Reason: long, Old: []string{long, long, long, long}, New: []string{long, long}, Objects: []string{long}})
		}},
		"one noisy Service": {4 << 20, 120_000, func(l *Log, i int) { l.Add(service("shop", "web"), "shop", sentEntry(i)) }},
		"the smallest limit": {MinBytes, 20_000, func(l *Log, i int) {
			l.Add(service("shop", fmt.Sprint(i%100)), "shop", &Entry{Reason: long, Old: []string{long, long, long, long, long, long}})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClock()
			before := heapInUse()
			l := New(test.limit, c.now)
			changes := longtest.Rounds(test.changes)
			for i := range changes {
				test.add(l, i)
				c.Time = c.Add(5 * time.Millisecond)
				if bytes, _ := l.Size(); bytes > test.limit {
					t.Fatalf("after %d changes the log counts %d bytes, more than %d", i+1, bytes, test.limit)
				}
			}
			measured := heapInUse() - before
			counted, _ := l.Size()
			entries := 0
			l.Walk(Scope{}, time.Time{}, func(Key, Entry) { entries++ })
			t.Logf("%d of %d entries kept; %d bytes measured, %d counted, limit %d", entries, changes, measured, counted, test.limit)
			if measured > test.limit {
				t.Errorf("%d bytes are in use, more than %d", measured, test.limit)
			}
			if entries == 0 {
				t.Error("nothing is kept")
			}
			if counted > 100<<10 && measured < counted/3 {
				t.Errorf("%d bytes are counted, and only %d in use", counted, measured)
			}
			runtime.KeepAlive(l)
		})
	}
}

// A noisy key loses its own oldest entries, and a noisy namespace those of its own keys. Others lose none.
func TestNoisyKeysLoseTheirOwnHistory(t *testing.T) {
	for name, noise := range map[string]func(l *Log, i int){
		"one Service":   func(l *Log, i int) { l.Add(service("noisy", "web"), "noisy", sentEntry(i)) },
		"one name":      func(l *Log, i int) { l.Add(Key{Name: "www.example.org"}, "noisy", sentEntry(i)) },
		"one namespace": func(l *Log, i int) { l.Add(service("noisy", fmt.Sprint(i%300)), "noisy", sentEntry(i)) },
		"many names":    func(l *Log, i int) { l.Add(Key{Name: fmt.Sprint(i)}, "noisy", sentEntry(i)) },
	} {
		t.Run(name, func(t *testing.T) {
			c := newClock()
			l := New(1<<20, c.now)
			quiet := service("quiet", "web")
			for i := range 50 {
				l.Add(quiet, "quiet", sentEntry(i))
			}
			beside := service("noisy", "beside")
			if name == "one Service" || name == "one name" {
				l.Add(beside, "noisy", sentEntry(7))
			}
			for i := range 60_000 {
				noise(l, i)
				c.Time = c.Add(10 * time.Millisecond)
			}
			if n := len(all(l, quiet)); n != 50 {
				t.Errorf("a namespace with few changes has %d of 50 entries left", n)
			}
			if n := len(all(l, beside)); strings.HasPrefix(name, "one ") && name != "one namespace" && n != 1 {
				t.Errorf("a Service with few changes beside a noisy one has %d entries left, want 1", n)
			}
			newest := time.Time{}
			l.Walk(Scope{}, time.Time{}, func(_ Key, e Entry) {
				if e.At.After(newest) {
					newest = e.At
				}
			})
			if age := c.Sub(newest); age > 20*time.Millisecond {
				t.Errorf("the newest entry is %v old", age)
			}
		})
	}
}

// Below the limit, an entry is kept for an hour and then removed.
func TestOldEntriesAreRemoved(t *testing.T) {
	c := newClock()
	l := New(DefaultBytes, c.now)
	old := service("shop", "old")
	l.Add(old, "shop", sentEntry(1))
	c.Time = c.Add(MaxAge - time.Second)
	l.Add(service("shop", "web"), "shop", sentEntry(2))
	if len(all(l, old)) != 1 {
		t.Error("an entry of less than an hour ago was removed")
	}
	c.Time = c.Add(sweepEvery + time.Second)
	l.Add(service("other", "web"), "other", sentEntry(3))
	if s, _ := l.find(old); len(all(l, old)) != 0 || s != nil {
		t.Error("an entry of more than an hour ago was kept")
	}
	c.Time = c.Add(2 * MaxAge)
	l.Add(service("shop", "web"), "shop", sentEntry(4))
	if len(l.series) != 1 || len(l.tenants) != 1 || len(l.largest) != 1 {
		t.Errorf("%d keys and %d namespaces are left, want 1 each", len(l.series), len(l.tenants))
	}
	bytes := l.bytes
	l.remove(l.largest[0].oldest())
	if l.bytes != baseCost || len(l.tenants)+len(l.largest) != 0 {
		t.Errorf("%d of %d bytes are counted for an empty log", l.bytes, bytes)
	}
}

func TestScopes(t *testing.T) {
	l := New(DefaultBytes, newClock().now)
	web := service("shop", "web")
	for _, key := range []Key{web, service("shop", "db"), {Name: "www.example.org"}, {Cluster: "east", Namespace: "shop", Name: "web"}} {
		l.Add(key, "shop", sentEntry(1))
	}
	for want, of := range map[int]Scope{1: {Key: &web}, 2: {Key: &web, Names: true}, 4: {}, 0: {Key: &Key{Name: "other"}}} {
		got := 0
		l.Walk(of, time.Time{}, func(Key, Entry) { got++ })
		if got != want {
			t.Errorf("%+v has %d entries, want %d", of, got, want)
		}
	}
}

// With 0 bytes no history is kept. Readers and writers may run concurrently.
func TestConcurrency(t *testing.T) {
	if New(0, nil) != nil {
		t.Error("a log of 0 bytes keeps something")
	}
	var none *Log
	none.Add(service("shop", "web"), "shop", sentEntry(1))
	none.Walk(Scope{}, time.Time{}, func(Key, Entry) { t.Error("nothing was kept") })
	if bytes, limit := none.Size(); bytes != 0 || limit != 0 {
		t.Error("no log has a size")
	}
	l := New(MinBytes, nil)
	var running sync.WaitGroup
	for w := range 4 {
		running.Go(func() {
			for i := range 3000 {
				l.Add(service(fmt.Sprint(w), fmt.Sprint(i%20)), fmt.Sprint(w), sentEntry(i))
				if i%300 == 0 {
					l.Walk(Scope{}, time.Time{}, func(_ Key, e Entry) {
						if len(e.Added) != 1 || e.Streams != 20 {
							t.Errorf("read %+v", e)
						}
					})
				}
			}
		})
	}
	running.Wait()
}

// Of two keys with the same hash, the newer one is kept.
func TestKeysWithTheSameHash(t *testing.T) {
	l := New(DefaultBytes, newClock().now)
	old, web := service("shop", "old"), service("shop", "web")
	l.Add(old, "shop", sentEntry(1))
	s, hash := l.find(old)
	delete(l.series, hash)
	_, s.hash = l.find(web)
	l.series[s.hash] = s
	if len(all(l, web)) != 0 {
		t.Error("a key has the entries of another")
	}
	l.Add(web, "shop", sentEntry(2))
	if n := len(all(l, web)); n != 1 || len(l.series) != 1 || l.largest[0].chunks.Len() != 1 {
		t.Errorf("%d entries, %d keys and %d chunks, want 1 each", n, len(l.series), l.largest[0].chunks.Len())
	}
}

func FuzzRead(f *testing.F) {
	f.Add(sentEntry(1).append(nil, 0))
	f.Fuzz(func(t *testing.T, b []byte) {
		var e Entry
		for rest := b; len(rest) > 0; {
			before := len(rest)
			if rest = e.read(rest, 0); len(rest) >= before {
				t.Fatal("nothing was read")
			}
		}
	})
}

func BenchmarkAdd(b *testing.B) {
	l := New(DefaultBytes, nil)
	key := service("shop", "web")
	e := sentEntry(1)
	b.ReportAllocs()
	for b.Loop() {
		e.At = time.Time{}
		l.Add(key, "shop", e)
	}
}

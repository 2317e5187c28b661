package publisher

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
)

// If thousands of objects ask for one name and some of them change, the name is planned once for
// all of them, and the cost depends on the number of objects, not on its square. One namespace could
// stop the loop for minutes otherwise.
func TestManyObjectsOfOneName(t *testing.T) {
	const objects, changes = 1500, 80
	for _, name := range []string{"own." + zoneName, "unzoned.example.net"} {
		t.Run(name, func(t *testing.T) {
			withFixture(t, func(t *testing.T, w *fixture) {
				ask := func(i, version int) {
					w.asks("tenant", fmt.Sprint("o", i), name, "A", fmt.Sprintf("10.%d.%d.%d", version, i>>8, i&255))
				}
				for i := range objects {
					ask(i, 0)
				}
				w.start()
				waitIdle()
				before := allocated()
				w.inOnePass(func() {
					for i := range changes {
						ask(i, 1)
					}
				})
				time.Sleep(10 * time.Second)
				const perObject = 20_000
				if n := allocated() - before; n > perObject*objects {
					t.Errorf("%d bytes were allocated for %d changes, want at most %d for each of %d objects", n, changes, perObject, objects)
				}
			})
		})
	}
}

// allocated returns how many bytes the process has allocated.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// A log line about a record set has its first targets and the number of the others.
func TestLoggedTargets(t *testing.T) {
	r := &dns.RecordSet{Name: "many.shop.test", Type: "A"}
	for i := range 20_000 {
		r.Targets = append(r.Targets, fmt.Sprintf("10.0.%d.%d", i>>8, i&255))
	}
	text := describe(dns.Change{Old: r, New: r})
	if len(text) > 2000 || strings.Count(text, "and 19980 more") != 2 || !strings.Contains(text, "10.0.0.19") {
		t.Errorf("%d bytes: %.600s", len(text), text)
	}
	few := &dns.RecordSet{Name: "few.shop.test", Type: "TXT", Targets: []string{strings.Repeat("x", 100_000)}}
	if text := describe(dns.Change{New: few}); len(text) > 2000 {
		t.Errorf("%d bytes for one long target", len(text))
	}
}

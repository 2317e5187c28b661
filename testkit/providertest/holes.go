package providertest

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/signpostd/signpost/dns"
)

const (
	// holeSteps is how often the names of a schedule change, and holeNames the number of names.
	holeSteps, holeNames = 12, 3
	// holeFaults is how many of ten write requests are refused in a step with faults.
	holeFaults = 3
)

// typeChanges makes names change between addresses and a CNAME, while requests are refused and other writers'
// records are in the way. At every request (or all the time, for a provider without HTTP), a name that had an
// answer and should have one must have one.
//
// A provider that applies changes one after the other may leave a name without an answer once per call of
// Apply that changes its type, from the deletion to the creation, but not for a change that the listing shows
// to be impossible. After Apply the name must have an answer, even if the change was refused (clouds F2:
// Azure deleted a record again and again, libdns for good).
func typeChanges(t *testing.T, o Options) {
	if !slices.Contains(o.Types, dns.TypeA) || !slices.Contains(o.Types, dns.TypeCNAME) || o.Without["type change"] != "" {
		return
	}
	for seed := range uint64(2) {
		t.Run(fmt.Sprint("seed", seed), func(t *testing.T) { playTypeChanges(t, o, seed) })
	}
}

func playTypeChanges(t *testing.T, o Options, seed uint64) {
	watch := &watch{random: rand.New(rand.NewPCG(seed, 11))}
	in := Input()
	in.Wrap = watch.wrap
	f := o.Open(t, in)
	watch.seal()
	z := &zone{t: t, fixture: f, p: f.Provider, name: f.Zone}
	z.zone = z.find()
	z.background = z.records(z.p)
	watch.see = z.watcher()
	texts := slices.Contains(o.Types, dns.TypeTXT)
	state := map[string][]record{}
	for step := range holeSteps {
		name := fmt.Sprintf("n%d", watch.random.IntN(holeNames))
		before := state[name]
		next := answerOf(name, watch.random)
		if texts {
			next = append(next, noteOf(name, next[0]))
		}
		faulty := step%2 == 1
		made := z.step(watch, name, before, next, faulty)
		if made {
			state[name] = next
		} else {
			// Ownership records that a refusal left are ignored here.
			z.restore(state)
		}
	}
	if texts {
		z.obstructed(watch, state)
	}
}

// answerOf returns the wanted records of a name: addresses, or a CNAME.
func answerOf(name string, random *rand.Rand) []record {
	switch n := random.IntN(4); n {
	case 0, 1:
		return []record{alias(name, fmt.Sprintf("lb%d.example.net", n))}
	default:
		return []record{address(name, fmt.Sprintf("192.0.2.%d", n))}
	}
}

func noteOf(name string, r record) record {
	return text(strings.ToLower(r.recordType)+"-"+name, `"heritage=external-dns,external-dns/owner=kit"`).of(name)
}

// step changes a name, and reports whether the change was applied.
func (z *zone) step(w *watch, name string, before, next []record, faulty bool) (made bool) {
	z.t.Helper()
	changes := z.changesOf(name, next)
	if len(changes) == 0 {
		return true
	}
	full := dns.Canonical(qualify(name, z.name))
	watched := ""
	if len(before) > 0 {
		watched = full
	}
	gaps, err := w.during(watched, faulty, func() error { return z.p.Apply(z.t.Context(), z.zone, changes) })
	allowed := 0
	if z.p.Capabilities().Stepwise {
		allowed = 1
	}
	if gaps > allowed {
		z.t.Fatalf("Apply %s: %v: the name was without an answer %d times, and may be %d times", showChanges(changes), err, gaps, allowed)
	}
	if watched != "" && !z.watcher()(watched) {
		z.t.Fatalf("Apply %s: %v: the name has no answer", showChanges(changes), err)
	}
	if err != nil && !faulty {
		z.t.Fatalf("Apply %s: %v", showChanges(changes), err)
	}
	return err == nil
}

// changesOf returns the changes to the wanted records of a name.
func (z *zone) changesOf(name string, next []record) []dns.Change {
	z.t.Helper()
	full := dns.Canonical(qualify(name, z.name))
	var wanted []*dns.RecordSet
	for _, r := range next {
		wanted = append(wanted, r.recordSet(z.name))
	}
	current := z.current()
	maps.DeleteFunc(current, func(k dns.Key, _ *dns.RecordSet) bool { return k.Name != full && !strings.HasSuffix(k.Name, "-"+full) })
	var changes []dns.Change
	for _, r := range z.adjust(wanted) {
		old := current[r.Key()]
		delete(current, r.Key())
		if old == nil || difference(old, r) != "" {
			changes = append(changes, dns.Change{Old: old, New: r})
		}
	}
	for _, k := range slices.SortedFunc(maps.Keys(current), compareKeys) {
		old := current[k].Clone()
		if old.Type == dns.TypeTXT {
			if old.Labels == nil {
				old.Labels = map[string]string{}
			}
			old.Labels[dns.LabelOwnedRecord] = full
		}
		changes = append(changes, dns.Change{Old: old})
	}
	slices.SortStableFunc(changes, func(a, b dns.Change) int {
		rank := func(c dns.Change) int {
			if c.New == nil {
				return 0
			}
			return 1
		}
		return rank(a) - rank(b)
	})
	return changes
}

// restore brings the zone into a state after a refusal, without faults, through another process.
func (z *zone) restore(state map[string][]record) {
	z.t.Helper()
	other := z.otherWriter()
	for name, records := range state {
		if changes := other.changesOf(name, records); len(changes) > 0 {
			if err := other.p.Apply(z.t.Context(), other.zone, changes); err != nil {
				z.t.Fatalf("Apply %s after a refusal: %v", showChanges(changes), err)
			}
		}
	}
	// A name that has just got its first answer may have kept it.
	z.records(z.p)
}

// obstructed has another writer's text beside an address that should become a CNAME. A server that accepts
// both is fine; otherwise nothing may be deleted.
func (z *zone) obstructed(w *watch, state map[string][]record) {
	z.t.Helper()
	const name = "blocked"
	first := []record{address(name, "192.0.2.1"), noteOf(name, address(name))}
	if !z.step(w, name, nil, first, false) {
		z.t.Fatal("the address isn't made")
	}
	her := text(name, `"v=spf1 -all"`).recordSet(z.name)
	person := z.otherWriter()
	if err := person.p.Apply(z.t.Context(), person.zone, []dns.Change{{New: person.adjust([]*dns.RecordSet{her})[0]}}); err != nil {
		z.t.Fatal(err)
	}
	next := []record{alias(name, "lb.example.net"), noteOf(name, alias(name, "x"))}
	changes := slices.DeleteFunc(z.changesOf(name, next), func(c dns.Change) bool { return c.RecordSet().Key() == her.Key() })
	full := dns.Canonical(qualify(name, z.name))
	gaps, err := w.during(full, false, func() error { return z.p.Apply(z.t.Context(), z.zone, changes) })
	if err != nil && gaps > 0 {
		z.t.Errorf("Apply %s: %v: the name was without an answer %d times, although the listing shows what is in the way", showChanges(changes), err, gaps)
	}
	if !z.watcher()(full) {
		z.t.Errorf("Apply %s: %v: the name has no answer", showChanges(changes), err)
	}
}

// watcher returns a function that reports whether a name has an answer. It reads through a process of its
// own.
func (z *zone) watcher() func(name string) bool {
	z.t.Helper()
	other := z.otherWriter()
	return func(name string) bool {
		list, err := other.p.Records(context.WithoutCancel(z.t.Context()), other.zone)
		return err != nil || slices.ContainsFunc(list, func(r *dns.RecordSet) bool {
			return dns.Canonical(r.Name) == name && (r.Type == dns.TypeA || r.Type == dns.TypeAAAA || r.Type == dns.TypeCNAME)
		})
	}
}

// watch counts how often a name loses its answer while a provider works, and makes requests fail.
type watch struct {
	random *rand.Rand
	// see reports whether a name has an answer.
	see func(name string) bool

	mu     sync.Mutex
	sealed bool
	// http is true once a request was seen; name is the watched name.
	http   bool
	name   string
	faulty bool
	// missing is true while the name has no answer.
	missing bool
	gaps    int
}

// wrap makes the first provider's transport a watched one. Providers that are opened later are not watched.
func (w *watch) wrap(next http.RoundTripper) http.RoundTripper {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sealed {
		return next
	}
	return watched{w, next}
}

func (w *watch) seal() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sealed = true
}

// during calls a function, and returns how often the name lost its answer meanwhile.
func (w *watch) during(name string, faulty bool, apply func() error) (gaps int, err error) {
	w.mu.Lock()
	w.name, w.faulty, w.missing, w.gaps = name, faulty, false, 0
	overHTTP := w.http
	w.mu.Unlock()
	end := make(chan struct{})
	var looking sync.WaitGroup
	if !overHTTP {
		looking.Go(func() {
			for {
				w.look()
				select {
				case <-end:
					return
				default:
				}
			}
		})
	}
	err = apply()
	close(end)
	looking.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.name, w.faulty = "", false
	return w.gaps, err
}

// look checks whether the name has an answer.
func (w *watch) look() {
	w.mu.Lock()
	name := w.name
	w.mu.Unlock()
	if name == "" {
		return
	}
	there := w.see(name)
	w.mu.Lock()
	defer w.mu.Unlock()
	if !there && !w.missing {
		w.gaps++
	}
	w.missing = !there
}

// refuse reports whether to refuse a write request.
func (w *watch) refuse(req *http.Request) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.http = true
	return w.faulty && req.Method != http.MethodGet && w.random.IntN(10) < holeFaults
}

// watched is a watched transport of a provider.
type watched struct {
	*watch
	next http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (w watched) RoundTrip(req *http.Request) (*http.Response, error) {
	if w.refuse(req) {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return &http.Response{
			StatusCode: http.StatusBadRequest, Status: "400 Bad Request", Header: http.Header{"Content-Type": {"application/json"}},
			Body: io.NopCloser(strings.NewReader("{}")), Request: req,
		}, nil
	}
	resp, err := w.next.RoundTrip(req)
	if req.Method != http.MethodGet {
		w.look()
	}
	return resp, err
}

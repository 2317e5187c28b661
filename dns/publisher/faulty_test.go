package publisher

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// faulty is the zones as one process sees them: a provider that fails at random.
type faulty struct {
	t     testing.TB
	truth *truth
	id    string
	// byTarget is true if a record set may be written in part.
	byTarget bool

	mu     sync.Mutex
	random *rand.Rand
	// broken is how many of ten calls fail.
	broken int
	// listed has what was listed last of each zone since the process began, and late whether
	// that was out of date.
	listed map[string][]*dns.RecordSet
	late   map[string]bool
}

func newFaulty(t testing.TB, truth *truth, id string, seed uint64) *faulty {
	return &faulty{t: t, truth: truth, id: id, random: rand.New(rand.NewPCG(seed, 2)), listed: map[string][]*dns.RecordSet{}, late: map[string]bool{}}
}

func (f *faulty) disturb(tenths int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.broken = tenths
}

func (f *faulty) endFaults() { f.disturb(0) }

// restarted is called when a process ends.
func (f *faulty) restarted() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.listed)
	clear(f.late)
}

// fault is what happens to one call.
type fault struct {
	// wrong is true if the call fails. kind says how. some is a random number.
	wrong      bool
	kind, some int
	took       time.Duration
}

// Two kinds of faults of a call of Apply: the error says which changes were made, or the person makes
// a record set before the call does.
const errsPartly, overtaken = 5, 6

// draw decides what happens to a call that can fail in n ways.
func (f *faulty) draw(n int) fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	took := time.Duration(f.random.IntN(300)) * time.Millisecond
	return fault{kind: f.random.IntN(n), some: f.random.IntN(1000), wrong: f.random.IntN(10) < f.broken, took: took}
}

var (
	errServer = errors.New("500 Internal Server Error")
	errReset  = errors.New("connection reset by peer")
)

// throttled is the error of a provider that is asked too often. Mostly it says when to come back.
func throttled(some int) error {
	if some%2 == 0 {
		return fmt.Errorf("%w: 429 Too Many Requests", provider.ErrThrottled)
	}
	return &provider.ThrottledError{After: time.Duration(some%20) * time.Second}
}

// Capabilities implements [provider.Provider].
func (f *faulty) Capabilities() provider.Capabilities {
	c := f.truth.zones.Capabilities()
	c.ByTarget = f.byTarget
	return c
}

// Zones implements [provider.Provider].
func (f *faulty) Zones(ctx context.Context) ([]dns.Zone, error) {
	d := f.draw(2)
	wait(ctx, d.took)
	if d.wrong && d.kind == 0 {
		return nil, errServer
	}
	return f.truth.zones.Zones(ctx)
}

// Records fails, or is out of date.
func (f *faulty) Records(ctx context.Context, zone dns.Zone) ([]*dns.RecordSet, error) {
	d := f.draw(5)
	wait(ctx, d.took)
	records, err := f.truth.zones.Records(ctx, zone)
	if err != nil {
		return nil, err
	}
	if !d.wrong {
		return f.list(zone, records), nil
	}
	switch d.kind {
	case 0:
		return nil, errServer
	case 1:
		return nil, throttled(d.some)
	case 2:
		return nil, errReset
	case 3:
		// The listing is incomplete, which a provider has to notice.
		return nil, io.ErrUnexpectedEOF
	default:
		return f.listLate(zone, records), nil
	}
}

func (f *faulty) list(zone dns.Zone, records []*dns.RecordSet) []*dns.RecordSet {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listed[zone.ID], f.late[zone.ID] = records, false
	return records
}

// listLate returns the listing before, but not twice in a row.
func (f *faulty) listLate(zone dns.Zone, records []*dns.RecordSet) []*dns.RecordSet {
	f.mu.Lock()
	defer f.mu.Unlock()
	before, known := f.listed[zone.ID]
	f.listed[zone.ID] = records
	if !known || f.late[zone.ID] {
		f.late[zone.ID] = false
		return records
	}
	f.late[zone.ID] = true
	return slices.Clone(before)
}

// Apply fails before, after or in the midst of the changes.
func (f *faulty) Apply(ctx context.Context, zone dns.Zone, changes []dns.Change) error {
	d := f.draw(8)
	wait(ctx, d.took)
	some := f.first(changes, d)
	if ctx.Err() != nil {
		// The process is ending. A part of the changes may have been made.
		if !f.claims(some) {
			_ = f.truth.apply(f.id, zone, some)
		}
		return ctx.Err()
	}
	f.t.Logf("%v %s applies %v wrong %v kind %d some %d", time.Now(), f.id, describeChanges(changes), d.wrong, d.kind, len(some))
	if !d.wrong {
		return f.truth.apply(f.id, zone, changes)
	}
	return f.fail(d, zone, changes, some)
}

func (f *faulty) fail(d fault, zone dns.Zone, changes, some []dns.Change) error {
	switch d.kind {
	case 0:
		return errServer
	case 1:
		return throttled(d.some)
	case 2:
		// Applied, but the response is lost.
		if err := f.truth.apply(f.id, zone, changes); err != nil {
			return err
		}
		return errServer
	case 3:
		return fmt.Errorf("not today: %w", provider.ErrRejected)
	case 4:
		return provider.ErrStale
	case errsPartly:
		return f.partly(zone, changes, some)
	case overtaken:
		f.truth.overtake(f.id, zone, changes)
		return errReset
	default:
		// Some were made when the connection broke.
		_ = f.truth.apply(f.id, zone, some)
		return errReset
	}
}

// first returns the first changes, up to a random one. A provider that writes by target may have begun
// the next one.
func (f *faulty) first(changes []dns.Change, d fault) []dns.Change {
	n := d.some % (len(changes) + 1)
	some := slices.Clone(changes[:n])
	if !f.byTarget || n == len(changes) || d.kind == errsPartly || d.took/time.Millisecond%2 == 0 {
		return some
	}
	next := changes[n]
	var targets []string
	if next.Old != nil {
		targets = next.Old.Targets
	}
	if next.New == nil {
		targets = targets[1:]
	} else {
		targets = dns.UniqueSorted(append(next.New.Targets[:1:1], targets...))
	}
	if next.RecordSet().Type != dns.TypeA || len(targets) == 0 {
		return some
	}
	begun := *next.RecordSet()
	begun.Targets = targets
	return append(some, dns.Change{Old: next.Old, New: &begun})
}

// partly makes some of the changes, and says which.
func (f *faulty) partly(zone dns.Zone, changes, some []dns.Change) error {
	err := f.truth.apply(f.id, zone, some)
	each, known := errors.AsType[*provider.ApplyError](err)
	if err != nil && !known {
		return err // none was made
	}
	errs := make([]error, len(changes))
	for i := range changes {
		switch {
		case i >= len(some):
			errs[i] = fmt.Errorf("not this one: %w", provider.ErrRejected)
		case known:
			errs[i] = each.Errs[i]
		}
	}
	return &provider.ApplyError{Errs: errs}
}

// claims reports whether the last change is an ownership record for a record that somebody else has
// created meanwhile. A process that ends then can't know later that the record isn't its own
// (docs/decisions/0011).
func (f *faulty) claims(changes []dns.Change) bool {
	if len(changes) == 0 || changes[len(changes)-1].New == nil {
		return false
	}
	name, isOwnership := changes[len(changes)-1].New.Labels[dns.LabelOwnedRecord]
	return isOwnership && len(f.truth.records()[name]) > 0
}

// adjusting is a faulty provider that can't have every record set as it is wanted.
type adjusting struct{ *faulty }

// shortest is the shortest TTL of an adjusting provider.
const shortest = 120

// Adjust gives record sets a TTL, and refuses some names.
func (a adjusting) Adjust(ctx context.Context, _ dns.Zone, wanted []*dns.RecordSet) ([]provider.Adjusted, error) {
	d := a.draw(3)
	wait(ctx, d.took)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case d.wrong && d.kind == 0:
		return nil, errServer
	case d.wrong && d.kind == 1:
		return nil, throttled(d.some)
	}
	return provider.AdjustEach(wanted, func(r *dns.RecordSet) (*dns.RecordSet, error) {
		if unfit(r.Name) {
			return nil, fmt.Errorf("the name: %w", provider.ErrRejected)
		}
		if r.TTL >= shortest {
			return r, nil
		}
		fit := *r
		fit.TTL = shortest
		return &fit, nil
	}), nil
}

// Apply checks that what is written was adjusted.
func (a adjusting) Apply(ctx context.Context, zone dns.Zone, changes []dns.Change) error {
	for _, c := range changes {
		if c.New != nil && (c.New.TTL < shortest || unfit(c.New.Name)) {
			a.t.Errorf("%s writes %s with the TTL %d, which wasn't adjusted", a.id, line(c.New), c.New.TTL)
		}
	}
	return a.faulty.Apply(ctx, zone, changes)
}

// unfit reports whether an adjusting provider refuses a name.
func unfit(name string) bool { return strings.Contains(name, "unfit") }

// RoundTripper returns the transport of a store that fails as the provider does.
func (f *faulty) RoundTripper(next http.RoundTripper) http.RoundTripper {
	return faultyTransport{f, next}
}

type faultyTransport struct {
	*faulty
	next http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (t faultyTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	d := t.draw(3)
	wait(r.Context(), d.took/10)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if d.wrong && d.kind == 0 {
		return nil, errReset
	}
	response, err := t.next.RoundTrip(r)
	if d.wrong && d.kind == 1 && err == nil {
		// The request was processed, but the response is lost.
		return nil, errReset
	}
	return response, err
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

package publisher

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// faulty is a provider that fails at random, and checks what its owner does.
type faulty struct {
	provider.Provider
	t    *testing.T
	id   string
	seen *world

	mu     sync.Mutex
	random *rand.Rand
	// broken is how many of ten calls fail.
	broken int
	// claiming is true while there is a marker of its owner for a record of somebody else.
	claiming bool
}

func (f *faulty) disturb(tenths int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.broken = tenths
}

func (f *faulty) claim(is bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.claiming = is
}

func (f *faulty) mayCrash() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.claiming
}

func (f *faulty) heal() { f.disturb(0) }

// fault decides whether a call fails. It returns a number below n, and how long the call
// takes.
func (f *faulty) fault(n int) (kind, some int, goes bool, took time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	took = time.Duration(f.random.IntN(300)) * time.Millisecond
	return f.random.IntN(n), f.random.IntN(1000), f.random.IntN(10) < f.broken, took
}

var (
	errServer    = errors.New("500 Internal Server Error")
	errThrottled = fmt.Errorf("%w: 429 Too Many Requests", provider.ErrThrottled)
	errReset     = errors.New("connection reset by peer")
)

// Records fails.
func (f *faulty) Records(ctx context.Context, zone dns.Zone) ([]*dns.RecordSet, error) {
	kind, _, wrong, took := f.fault(4)
	wait(ctx, took)
	records, err := f.Provider.Records(ctx, zone)
	if !wrong || err != nil {
		return records, err
	}
	switch kind {
	case 0:
		return nil, errServer
	case 1:
		return nil, errThrottled
	case 2:
		return nil, errReset
	default:
		// The listing is incomplete, which a provider has to notice.
		return nil, io.ErrUnexpectedEOF
	}
}

// Apply fails before, after or in the midst of the changes.
func (f *faulty) Apply(ctx context.Context, zone dns.Zone, changes []dns.Change) error {
	kind, some, wrong, took := f.fault(5)
	wait(ctx, took)
	if ctx.Err() != nil {
		// The process is ending. A part of the changes may have been made.
		f.watch(zone, changes)
		made := changes[:some%(len(changes)+1)]
		if !f.claims(zone, made) {
			_ = f.Provider.Apply(context.WithoutCancel(ctx), zone, made)
		}
		return ctx.Err()
	}
	f.watch(zone, changes)
	f.t.Logf("%v %s applies %v wrong %v kind %d made %d", time.Now(), f.id, describeChanges(changes), wrong, kind, some%(len(changes)+1))
	if !wrong {
		f.claim(false)
		return f.Provider.Apply(ctx, zone, changes)
	}
	switch kind {
	case 0:
		return errServer
	case 1:
		return errThrottled
	case 2:
		// Applied, but the answer is lost.
		if err := f.Provider.Apply(ctx, zone, changes); err != nil {
			return err
		}
		return errReset
	case 3:
		return fmt.Errorf("not today: %w", provider.ErrRejected)
	default:
		// Some were made when the connection broke.
		if f.claims(zone, changes[:some%(len(changes)+1)]) {
			f.claim(true)
		}
		if err := f.Provider.Apply(ctx, zone, changes[:some%(len(changes)+1)]); err != nil {
			return err
		}
		return errReset
	}
}

// claims reports whether the last change is a marker for a record that somebody else has
// created meanwhile. A process that ends then can't know later that the record isn't its own
// (docs/decisions/0011).
func (f *faulty) claims(zone dns.Zone, changes []dns.Change) bool {
	if len(changes) == 0 || changes[len(changes)-1].New == nil {
		return false
	}
	name, marks := changes[len(changes)-1].New.Labels[dns.LabelOwnedRecord]
	if !marks {
		return false
	}
	records, err := f.Provider.Records(context.Background(), zone)
	return err != nil || slices.ContainsFunc(records, func(r *dns.RecordSet) bool { return r.Name == name })
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// watch checks that record sets of others aren't changed.
func (f *faulty) watch(zone dns.Zone, changes []dns.Change) {
	records, err := f.Provider.Records(context.Background(), zone)
	if err != nil {
		f.t.Error(err)
		return
	}
	byName := map[string][]*dns.RecordSet{}
	for _, r := range records {
		byName[r.Name] = append(byName[r.Name], r)
	}
	for _, c := range changes {
		if c.Old == nil {
			continue
		}
		id := markerOwner(byName, c.Old)
		if c.Old.Type == dns.TypeTXT {
			id = textOwner([]*dns.RecordSet{c.Old})
		}
		there := slices.ContainsFunc(byName[c.Old.Name], func(r *dns.RecordSet) bool { return r.Type == c.Old.Type })
		if there && id != f.id {
			f.t.Errorf("%s touches %s, which belongs to %q", f.id, line(c.Old), id)
		}
	}
}

package listlimit

import (
	"fmt"
	"hash/maphash"
	"sync"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/internal/sanitize"
)

const (
	// emptyPages is how many more pages than entries a listing may have.
	emptyPages = 100
	// receivedFactor is by how much the received bytes may exceed the memory limit. In some zones most
	// data are signatures and types that are not kept.
	receivedFactor = 4
)

// seed hashes page markers. It is secret, so that a server can't choose two markers with the same
// hash.
var seed = maphash.MakeSeed()

// Listing counts the entries of one list: the record sets of a zone, or the zones of a provider.
type Listing struct {
	// subject and entries describe the list in errors. flag sets the limit.
	subject, entries, flag string
	most                   usage
	// budget is nil if the listing doesn't count for all zones together. zone is the ID of the zone,
	// and before the size of its last complete listing.
	budget *Budget
	zone   string
	before usage

	mu  sync.Mutex
	now usage
	// reserved is what the budget counts of the listing beyond before.
	reserved usage
	received int
	pages    int
	seen     map[uint64]struct{}
	// ended is true after End.
	ended bool
}

func newListing(subject, entries, flag string, most usage) *Listing {
	return &Listing{subject: subject, entries: entries, flag: flag, most: most, seen: map[uint64]struct{}{}}
}

// zoneSubject returns a zone as it appears in errors.
func zoneSubject(z dns.Zone) string {
	if z.Name == "" && z.ID == "" {
		return "the provider's only zone"
	}
	if z.Name == "" {
		return "zone " + sanitize.Name(z.ID)
	}
	return "zone " + sanitize.Name(z.Name)
}

// Add counts entries with so many bytes of memory. After an error the caller must drop the listing.
func (l *Listing) Add(entries, bytes int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now = l.now.plus(usage{entries, bytes})
	switch {
	case l.now.records > l.most.records:
		return fmt.Errorf("%w: %s has more than %d %s: if that is right, raise --%s and the memory limit of the pod",
			ErrExceeded, l.subject, l.most.records, l.entries, l.flag)
	case l.now.bytes > l.most.bytes:
		return fmt.Errorf("%w: the %s of %s need more than %d bytes of memory, %d for each of the %d that --%s allows: if that is right, raise it and the memory limit of the pod",
			ErrExceeded, l.entries, l.subject, l.most.bytes, averageSize, l.most.records, l.flag)
	}
	if l.budget == nil || l.ended {
		return nil
	}
	more := l.now.above(l.before).minus(l.reserved)
	l.reserved = l.reserved.plus(more)
	if !l.budget.grow(more) {
		limit := l.budget.limits.Records
		return fmt.Errorf("%w: with %s, all zones of the provider have more than %d record sets, or need more than %d bytes of memory: if that is right, raise --max-records and the memory limit of the pod, or choose zones with a zone filter",
			ErrExceeded, l.subject, limit, mostOf(limit).bytes)
	}
	return nil
}

// Receive counts bytes that a server sent for the listing, including those that aren't kept.
func (l *Listing) Receive(bytes int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.received += bytes
	if most := receivedFactor * l.most.bytes; l.received > most {
		return fmt.Errorf("%w: the server sent more than %d bytes for %s, which are %d for each of the %d %s that --%s allows: if that is right, raise it",
			ErrExceeded, most, l.subject, receivedFactor*averageSize, l.most.records, l.entries, l.flag)
	}
	return nil
}

// Page notes that another page follows, with the server's marker. A repeated marker, or too many
// pages, is an error, because the listing is endless.
func (l *Listing) Page(marker string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	hash := maphash.String(seed, marker)
	if _, again := l.seen[hash]; again {
		return fmt.Errorf("%w: the server's list of the %s of %s has no end: the page %s comes again, after %d pages with %d %s",
			ErrExceeded, l.entries, l.subject, sanitize.Quote(marker), l.pages+1, l.now.records, l.entries)
	}
	l.seen[hash] = struct{}{}
	if l.pages++; l.pages > l.now.records+emptyPages {
		return fmt.Errorf("%w: the server's list of the %s of %s has no end: it has %d pages with only %d %s",
			ErrExceeded, l.entries, l.subject, l.pages, l.now.records, l.entries)
	}
	return nil
}

// End ends the listing. err is its error; nil means that it is complete and kept. Further calls do
// nothing.
func (l *Listing) End(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return
	}
	l.ended = true
	if l.budget != nil {
		l.budget.settle(l.zone, l.now, l.reserved, err == nil)
	}
	l.seen = nil
}

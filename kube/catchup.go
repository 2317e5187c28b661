package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/signpostd/signpost/internal/pause"
)

const (
	// shortWatch is the duration of watches while CatchUp waits. An API server sends a bookmark two seconds
	// before a watch ends, but not if the watch is younger by then: a shorter watch would get none.
	shortWatch = 3 * time.Second
	// timeoutAge is the age from which a short watch that ended counts as ended by the API server's timeout.
	timeoutAge = 2 * time.Second
	// youngWatch is the age below which a watch isn't replaced, because reflectors list everything when a
	// watch ends within a second.
	youngWatch = 1100 * time.Millisecond
	// catchUpPoll is how often CatchUp polls the progress of a part. catchUpRequest bounds the request for
	// the current resource version.
	catchUpPoll    = 25 * time.Millisecond
	catchUpRequest = 5 * time.Second
)

// CatchUp waits until the tables contain, and their handlers have seen, every change that the API server had
// when CatchUp was called. If ctx ends before, CatchUp returns an error that names what is missing. It may be
// called from any goroutine while the clusters of the tables run.
//
// For each resource, and each namespace that is watched on its own, CatchUp reads the current resource
// version with a consistent read. If the tables are behind (they lag, or no object of the kind has changed),
// it replaces the watch by short ones: the API server first sends the missing changes and, after one or two
// seconds, a bookmark.
//
// Without bookmarks, or if watches don't reach the version of a consistent read while no object of
// the kind changes, CatchUp returns after one whole short watch (about 3 s). Changes that the API
// server itself had not read from etcd by then are missed. An optional kind that the cluster lacks
// is skipped, and so is one that it forbids: that takes two refusals in a row, the second one after
// all required kinds were read. The status of its tables is then not Synced.
func CatchUp(ctx context.Context, tables ...AnyTable) error {
	var mu sync.Mutex
	var errs []error
	var waiting sync.WaitGroup
	parts := map[*part]bool{}
	// unread is how many parts of required kinds have not been read. An API server that starts
	// refuses requests for them, too.
	var unread atomic.Int64
	for _, t := range tables {
		for _, p := range t.parts() {
			if !parts[p] && !p.feed.optional {
				unread.Add(1)
			}
			parts[p] = true
		}
	}
	for p := range parts {
		waiting.Go(func() {
			if err := p.catchUp(ctx, &unread); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			}
		})
	}
	waiting.Wait()
	switch len(errs) {
	case 0:
		return nil
	case 1:
		return errs[0]
	default:
		return fmt.Errorf("%w (and %d more)", errs[0], len(errs)-1)
	}
}

// Versions returns the resource version of the last change in the tables, by resource (and namespace).
// [Contain] takes the map in another process. Bookmarks don't count, because each process gets them at other
// times.
func Versions(tables ...AnyTable) map[string]string {
	versions := map[string]string{}
	for _, t := range tables {
		for _, p := range t.parts() {
			versions[p.label()] = p.watches.lastChange()
		}
	}
	return versions
}

// Contain waits until the tables contain everything up to the [Versions] of another process. It
// returns false if ctx ends before, or if versions lacks one of the tables. An optional kind that
// the cluster lacks, or forbids, for both processes is contained. Unlike [CatchUp], it sends no
// requests.
func Contain(ctx context.Context, versions map[string]string, tables ...AnyTable) bool {
	look := time.Tick(catchUpPoll)
	for _, t := range tables {
		for _, p := range t.parts() {
			version, known := versions[p.label()]
			if known && version == "" && p.neverRead() {
				continue
			}
			for !p.watches.contain(version) {
				select {
				case <-look:
				case <-ctx.Done():
					return false
				}
			}
		}
	}
	return true
}

// neverRead reports whether the cluster lacks or forbids the kind, and none of its objects have been read.
func (p *part) neverRead() bool { return p.watches.progress() == "" && p.status().missing() }

// catchUp is CatchUp for one part. unread is how many parts of required kinds have not been read.
func (p *part) catchUp(ctx context.Context, unread *atomic.Int64) error {
	p.watches.shorten(1)
	defer p.watches.shorten(-1)
	want, err := p.currentVersion(ctx, unread)
	if err == nil && !p.feed.optional {
		unread.Add(-1)
	}
	if err != nil || want == "" {
		return err
	}
	asked := time.Now()
	look := time.Tick(catchUpPoll)
	for !p.watches.reached(want, asked) {
		if p.state.following() {
			p.watches.replace(asked)
		}
		select {
		case <-look:
		case <-ctx.Done():
			return fmt.Errorf("catch up with %s: the tables are at version %q, not at %s: %w", p.label(), p.watches.progress(), want, context.Cause(ctx))
		}
	}
	return nil
}

// label returns the resource and the namespace of the part, for errors and as a key.
func (p *part) label() string {
	if p.namespace == "" {
		return p.feed.resource.GroupResource().String()
	}
	return p.feed.resource.GroupResource().String() + " in namespace " + p.namespace
}

// currentVersion returns the current resource version, and reports a rewind if the tables remember a higher
// one. The version is empty if the kind is optional, and the cluster lacks or forbids it.
func (p *part) currentVersion(ctx context.Context, unread *atomic.Int64) (string, error) {
	var delay retry
	asked, refused := time.Now(), false // refused is true if the previous request was
	for {
		certain := refused && unread.Load() == 0
		before := p.rewinds.remember(p)
		version, err := p.source.currentVersion(ctx)
		if err == nil {
			_, err = resourceversion.CompareResourceVersion(version, version)
		}
		if err == nil {
			p.rewinds.compare(p, version, before)
			return version, nil
		}
		reason := reasonOf(err)
		refused = reason == Forbidden
		if p.feed.optional && (reason == NotFound || refused && certain) {
			if p.status().State != Synced {
				return "", nil
			}
			p.watches.replace(asked) // the next watch fails, so that the status says that the tables are outdated
		}
		_ = pause.For(ctx, delay.next(retryLimit))
		if ctx.Err() != nil {
			return "", fmt.Errorf("catch up with %s: read its current version: %w (%v)", p.label(), context.Cause(ctx), err)
		}
	}
}

// currentVersion returns the version that a listing would have now. A listing without a resource version is a
// consistent read. The request has no selector, so that the API server need not search for a selected object.
func (s *source) currentVersion(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, catchUpRequest)
	defer cancel()
	list := &metav1.PartialObjectMetadataList{}
	body, err := s.client.Get().AbsPath(s.path...).
		SetHeader("Accept", jsonType+asList+","+jsonType).
		SpecificallyVersionedParams(&metav1.ListOptions{Limit: 1}, s.params, metav1.Unversioned).
		MaxRetries(0).Do(ctx).Raw()
	if err != nil {
		return "", s.classify(err)
	}
	if err := json.Unmarshal(body, list); err != nil {
		return "", s.classify(fmt.Errorf("read the response: %w", err))
	}
	return list.ResourceVersion, nil
}

// watches keeps the successive watches of a part, and how far the tables have come with them.
type watches struct {
	mu sync.Mutex
	// version is the resource version up to which the tables contain everything and the handlers were called.
	// It is empty before the first listing, and from a rewind to the next listing.
	version string
	// change is the version of the last change, or of the listing. Bookmarks don't set it.
	change string
	// waiting counts the calls of CatchUp under way. While it isn't zero, watches are short.
	waiting int
	// newest is the newest watch; nil before the first.
	newest *stream
	// endedByServerAt is when the newest short watch was requested that the API server ended by timeout and
	// whose changes the tables contain.
	endedByServerAt time.Time
	// filled is when the tables last got all objects. A watch that streamed these counts as new from then on.
	filled time.Time
}

func (w *watches) shorten(by int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting += by
}

// next returns the timeout of the next watch, in seconds. The caller calls it when the tables contain
// everything that the previous watch sent.
func (w *watches) next(seconds *int64) (of *int64, short bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.newest; s != nil && s.short && s.complete {
		w.endedByServerAt = s.asked
	}
	if w.waiting == 0 {
		return seconds, false
	}
	most := int64(shortWatch / time.Second)
	return &most, true
}

func (w *watches) opened(s *stream) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.newest = s
}

func (w *watches) ended(s *stream, why error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s.complete = errors.Is(why, io.EOF) && time.Since(s.asked) >= timeoutAge
}

// replace ends the newest watch if it was requested before the given time. The reflector then opens another.
func (w *watches) replace(before time.Time) {
	w.mu.Lock()
	s, filled := w.newest, w.filled
	w.mu.Unlock()
	if s != nil && s.asked.Before(before) && time.Since(s.asked) >= youngWatch && time.Since(filled) >= youngWatch {
		s.once.Do(s.cancel)
	}
}

// advance records that the tables contain everything up to version, and whether that is the version of a
// change. After a rewind it does nothing until the next listing, because the old watch may still deliver
// events.
func (w *watches) advance(version string, change bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.version == "" {
		return
	}
	if w.version = version; change {
		w.change = version
	}
}

// forget drops the versions because of a rewind.
func (w *watches) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.version, w.change = "", ""
}

// lastChange returns the version of the last change in the tables.
func (w *watches) lastChange() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.change
}

// contain reports whether the tables contain everything up to version.
func (w *watches) contain(version string) bool {
	order, err := resourceversion.CompareResourceVersion(w.progress(), version)
	return err == nil && order >= 0
}

// filledTo records that the tables have been filled by a listing of this version.
func (w *watches) filledTo(version string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.version, w.change, w.filled = version, version, time.Now()
}

// progress returns the version that the tables have reached.
func (w *watches) progress() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.version
}

// reached reports whether the tables contain everything up to version, or everything that the API server sent
// in a whole short watch requested after asked.
func (w *watches) reached(version string, asked time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.endedByServerAt.After(asked) {
		return true
	}
	order, err := resourceversion.CompareResourceVersion(w.version, version)
	return err == nil && order >= 0
}

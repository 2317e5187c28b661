package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

const (
	// shortWatch is how long watches last while somebody waits for the tables to catch up. An API server sends a bookmark two
	// seconds before the end of a watch, if that is later than its begin; a shorter watch would get none.
	shortWatch = 3 * time.Second
	// wholeWatch is how long a short watch has lasted, at least, if the API server ended it because of its time.
	wholeWatch = 2 * time.Second
	// youngWatch is the age below which a watch isn't replaced: reflectors list everything when a watch ends within a second.
	youngWatch = 1100 * time.Millisecond
	// catchUpLook is how often a part is looked at that has to catch up, and catchUpRequest bounds the request for the version
	// that it has to reach.
	catchUpLook    = 25 * time.Millisecond
	catchUpRequest = 5 * time.Second
)

// CatchUp returns nil when the tables contain every change that the API server had when it was called, and when the handlers
// have been told about all of these changes. If ctx ends before, it returns an error that names what is missing. It may be called
// at any time by anybody, while the clusters of the tables run.
//
// For each resource, and each namespace that is read for itself, it asks the API server for the present version, by a consistent
// read. If the tables haven't come that far, because they lag or because nothing has happened to the objects of this kind, it has the watch
// replaced by short ones, for which the API server first sends what is missing, and then, after one or two seconds, a
// bookmark that says how far they have come.
//
// API servers that send no bookmarks, or whose watches don't come to the version of a consistent read as long as no object of the kind changes, are believed
// after a whole short watch: then CatchUp has waited three seconds for changes, and would miss those that the API server itself had not
// read from etcd by then. A kind that is optional, and that the cluster lacks or forbids, has nothing to catch up with.
func CatchUp(ctx context.Context, tables ...AnyTable) error {
	var mu sync.Mutex
	var errs []error
	var waiting sync.WaitGroup
	asked := map[*part]bool{}
	for _, t := range tables {
		for _, p := range t.parts() {
			if asked[p] {
				continue
			}
			asked[p] = true
			waiting.Go(func() {
				if err := p.catchUp(ctx); err != nil {
					mu.Lock()
					defer mu.Unlock()
					errs = append(errs, err)
				}
			})
		}
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

// Versions returns, for what tables read, the versions of the last changes that the tables contain. [Contain] takes them in
// another process. Bookmarks don't count: they come at other times there.
func Versions(tables ...AnyTable) map[string]string {
	versions := map[string]string{}
	for _, t := range tables {
		for _, p := range t.parts() {
			versions[p.named()] = p.watches.lastChange()
		}
	}
	return versions
}

// Contain waits until tables contain all that those of another process contained, whose [Versions] are given. It returns false
// if ctx ends before, or if nothing is given for one of the tables. Unlike [CatchUp], it asks the API server for nothing.
func Contain(ctx context.Context, versions map[string]string, tables ...AnyTable) bool {
	look := time.NewTicker(catchUpLook)
	defer look.Stop()
	for _, t := range tables {
		for _, p := range t.parts() {
			for !p.watches.contain(versions[p.named()]) {
				select {
				case <-look.C:
				case <-ctx.Done():
					return false
				}
			}
		}
	}
	return true
}

// catchUp is CatchUp for one part.
func (p *part) catchUp(ctx context.Context) error {
	p.watches.shorten(1)
	defer p.watches.shorten(-1)
	want, err := p.present(ctx)
	if err != nil || want == "" {
		return err
	}
	asked := time.Now()
	look := time.NewTicker(catchUpLook)
	defer look.Stop()
	for !p.watches.reached(want, asked) {
		if p.state.following() {
			p.watches.replace(asked)
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return fmt.Errorf("catch up with %s: the tables have come to version %q, not to %s: %w", p.named(), p.watches.come(), want, context.Cause(ctx))
		}
	}
	return nil
}

// named says what the part reads.
func (p *part) named() string {
	if p.namespace == "" {
		return p.feed.resource.GroupResource().String()
	}
	return p.feed.resource.GroupResource().String() + " in namespace " + p.namespace
}

// present returns the version of the resource at present, and reports a rewind if that is below the remembered one. It is empty if
// the cluster lacks the kind.
func (p *part) present(ctx context.Context) (string, error) {
	var delay retry
	for {
		version, err := p.source.present(ctx)
		if err == nil {
			_, err = resourceversion.CompareResourceVersion(version, version)
		}
		if err == nil {
			p.rewinds.compare(p, version)
			return version, nil
		}
		if reason := reasonOf(err); p.feed.optional && (reason == NotFound || reason == Forbidden) {
			return "", nil
		}
		pause(ctx, delay.next(retryLimit))
		if ctx.Err() != nil {
			return "", fmt.Errorf("catch up with %s: ask for its version: %w (%v)", p.named(), context.Cause(ctx), err)
		}
	}
}

// present returns the version that a listing would have now. A listing without a version is a consistent read. This one has no selector, so that the API
// server need not look for an object that it selects.
func (s *source) present(ctx context.Context) (string, error) {
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
		return "", fmt.Errorf("read the answer: %w", err)
	}
	return list.ResourceVersion, nil
}

// watches are the watches of a part, one after the other, and how far the tables have come with them.
type watches struct {
	mu sync.Mutex
	// version is that to which the tables contain everything, and the handlers know it; empty before the first listing, and after
	// a rewind until the next one.
	version string
	// change is the version of the last change among these, or of the listing.
	change string
	// waiting is how many wait for the part to catch up: then watches are short.
	waiting int
	// newest is the newest watch; nil before the first.
	newest *stream
	// endedByServerAt is when the newest of the short watches was asked for that the API server has ended because of its time,
	// and whose changes the tables contain.
	endedByServerAt time.Time
	// filled is when the tables got all objects, after which a watch that has streamed these counts as a new one.
	filled time.Time
}

func (w *watches) shorten(by int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting += by
}

// next returns how long the next watch is to last, in seconds. It is called when the tables contain what
// the one before has sent.
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

// opened notes that there is another watch.
func (w *watches) opened(s *stream) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.newest = s
}

// ended notes why a watch has ended.
func (w *watches) ended(s *stream, why error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s.complete = errors.Is(why, io.EOF) && time.Since(s.asked) >= wholeWatch
}

// replace ends the newest watch if it was asked for before a time, so that the reflector asks for another one.
func (w *watches) replace(before time.Time) {
	w.mu.Lock()
	s, filled := w.newest, w.filled
	w.mu.Unlock()
	if s != nil && s.asked.Before(before) && time.Since(s.asked) >= youngWatch && time.Since(filled) >= youngWatch {
		s.once.Do(s.cancel)
	}
}

// saw notes that the tables contain everything up to a version, and whether that is the version of a change. After a rewind that
// means nothing before the next listing: the old watch may still bring something.
func (w *watches) saw(version string, change bool) {
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

// lastChange returns the version of the last change that the tables contain.
func (w *watches) lastChange() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.change
}

// contain reports whether the tables contain everything up to a version.
func (w *watches) contain(version string) bool {
	order, err := resourceversion.CompareResourceVersion(w.come(), version)
	return err == nil && order >= 0
}

// filledTo notes that the tables have got all objects, of a version.
func (w *watches) filledTo(version string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.version, w.change, w.filled = version, version, time.Now()
}

// come returns the version that the tables have come to.
func (w *watches) come() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.version
}

// reached reports whether the tables contain everything up to a version, or what the API server has sent in a whole watch that was asked for
// after a time.
func (w *watches) reached(version string, asked time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.endedByServerAt.After(asked) {
		return true
	}
	order, err := resourceversion.CompareResourceVersion(w.version, version)
	return err == nil && order >= 0
}

package kube

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/signpostd/signpost/internal/sanitize"
)

// Rewind says that the resource version of an API server went back: its objects were restored from an older
// copy, or deleted with etcd's data. A watch that continued at the remembered version would miss all changes
// until that version is reached again.
type Rewind struct {
	// Cluster is the name of the cluster. Kind is the kind by which the rewind was noticed.
	Cluster, Kind string
	// Remembered is the resource version that the tables of the kind had reached, and Present the API
	// server's.
	Remembered, Present string
}

// rewinds detects rewinds of a cluster's API server. While etcd keeps its data, the resource version of a
// kind never goes back, and versions of one kind may be compared as numbers (KEP-5504). So a part that
// receives a version below the one that it remembered at the request reports a rewind. The parts of all
// kinds then forget their versions and list their objects again.
type rewinds struct {
	cluster string
	log     *slog.Logger
	notify  func(Rewind)

	mu    sync.Mutex
	parts []*part
	count uint64
	// next is closed at the next rewind.
	next chan struct{}
}

func newRewinds() *rewinds {
	return &rewinds{log: slog.Default(), notify: func(Rewind) {}, next: make(chan struct{})}
}

// ErrRewound is the cause of the end of a context of [UntilRewound] at a rewind.
var ErrRewound = errors.New("the resource version of the API server went back")

// UntilRewound returns a context that ends with ctx, or with [ErrRewound] when the resource version
// of these tables' API server is found to have gone back. From then on, a table is out of date
// until [CatchUp] returns. The caller must cancel the context.
func UntilRewound(ctx context.Context, tables ...AnyTable) (context.Context, context.CancelFunc) {
	for _, t := range tables {
		for _, p := range t.parts() {
			return p.rewinds.untilNext(ctx)
		}
	}
	return context.WithCancel(ctx)
}

// upcoming returns a channel that is closed at the next rewind.
func (r *rewinds) upcoming() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.next
}

func (r *rewinds) counted() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count
}

// untilNext returns a context that ends with ctx or at the next rewind. The caller must cancel it.
func (r *rewinds) untilNext(ctx context.Context) (context.Context, context.CancelFunc) {
	until, cancel := context.WithCancelCause(ctx)
	next := r.upcoming()
	go func() {
		select {
		case <-next:
			cancel(ErrRewound)
		case <-until.Done():
		}
	}()
	return until, func() { cancel(nil) }
}

// remembered is the version of a part's tables at a time, and the number of rewinds until then.
type remembered struct {
	version string
	rewinds uint64
}

// remember returns the remembered version of a part. It is called before a request for the present version,
// because a watch may bring later versions before the response arrives.
func (r *rewinds) remember(p *part) remembered {
	r.mu.Lock()
	defer r.mu.Unlock()
	return remembered{version: p.watches.progress(), rewinds: r.count}
}

// compare compares a version that the part has received with what it remembered before the version was
// requested. If the version is below, compare reports a rewind and returns true.
func (r *rewinds) compare(p *part, present string, before remembered) bool {
	if !below(present, before.version) {
		return false
	}
	r.mu.Lock()
	if r.count != before.rewinds || p.watches.progress() == "" {
		r.mu.Unlock()
		return true // another part reported the rewind first
	}
	for _, of := range r.parts {
		of.watches.forget()
	}
	r.mu.Unlock()
	for _, of := range r.parts {
		of.state.rewound() // before they begin to list again
	}
	r.begin()
	known, present := sanitize.Shorten(before.version, fieldLimit), sanitize.Shorten(present, fieldLimit)
	r.log.Warn("The resource version of the API server went back, as after a restore of etcd from an older copy: all kinds are listed again",
		"kind", p.feed.kind, "remembered", known, "present", present)
	r.notify(Rewind{Cluster: r.cluster, Kind: p.feed.kind, Remembered: known, Present: present})
	return true
}

// compareNow is [rewinds.compare] with what the part remembers now. It is called for each change, and takes
// no lock unless the version is below.
func (r *rewinds) compareNow(p *part, present string) bool {
	return below(present, p.watches.progress()) && r.compare(p, present, r.remember(p))
}

// begin makes all parts list their objects again.
func (r *rewinds) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count++
	close(r.next)
	r.next = make(chan struct{})
}

// below reports whether version is older than other, which is of the same kind. It is false if one of them
// isn't a number.
func below(version, other string) bool {
	order, err := resourceversion.CompareResourceVersion(version, other)
	return err == nil && order < 0
}

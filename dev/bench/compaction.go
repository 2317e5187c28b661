package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/signpostd/signpost/dev/lab/etcdctl"
)

const (
	// replacedPods is how many pods of each Service are deleted, and how many are created: 1,000 of all.
	replacedPods = 2
	// linkAddr is where Signpost reaches the API server. The port has to be one that the kernel gives to nobody while
	// the link is cut.
	linkAddr = "127.0.0.1:18085"
	// compactionRest is how long the server rests before its memory is read.
	compactionRest = 30 * time.Second
	// compactionWatch is how long lists are counted after all streams know everything.
	compactionWatch = 10 * time.Second
)

// measureCompaction measures what becomes of streams when pods were replaced while Signpost could not reach the API
// server, and etcd has forgotten how.
func measureCompaction(ctx context.Context, r *report) error {
	k, err := startReal(ctx, time.Second, replacedPods)
	if err != nil {
		return err
	}
	defer k.stop()
	l, err := startLink(k.cluster)
	if err != nil {
		return err
	}
	defer l.close()
	config := filepath.Join(k.dir, "link")
	if err := l.kubeconfig(config); err != nil {
		return err
	}
	s, err := startDestination(ctx, k.dir, config)
	if err != nil {
		return err
	}
	defer s.stop()
	all, err := k.open(ctx, s)
	defer all.close()
	if err != nil {
		return err
	}
	c := &compaction{cluster: k, link: l, server: s, all: all}
	if c.etcd, err = etcdctl.URL(k.dir); err != nil {
		return err
	}
	if err := c.play(ctx); err != nil {
		return err
	}
	c.print(r)
	return nil
}

// link is how Signpost reaches the API server. It counts lists, and can be cut: then it refuses connections.
type link struct {
	*gateway

	mu    sync.Mutex
	lists map[string]int // that were answered, by path
}

func startLink(k *cluster) (*link, error) {
	g, err := newGateway(k)
	if err != nil {
		return nil, err
	}
	l := &link{gateway: g, lists: map[string]int{}}
	return l, l.mend()
}

// mend makes connections possible, for the first time or after close.
func (l *link) mend() error { return l.open(linkAddr, l) }

// RoundTrip implements http.RoundTripper.
func (l *link) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := l.next.RoundTrip(r)
	if isList(r) && succeeded(res, err) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.lists[r.URL.Path]++
	}
	return res, err
}

// isList reports whether a request begins a list, streamed or in pages.
func isList(r *http.Request) bool {
	query := r.URL.Query()
	_, collection := collectionAt(r.URL.Path)
	pages := query.Get("watch") == "" && query.Get("continue") == ""
	return r.Method == http.MethodGet && collection && (pages || query.Get("sendInitialEvents") == "true")
}

// takeLists returns the lists since the last call.
func (l *link) takeLists() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := l.lists
	l.lists = map[string]int{}
	return taken
}

type compaction struct {
	cluster *realCluster
	link    *link
	server  *server
	all     *mesh
	etcd    string // its URL

	// cut and back are when the link was cut and mended.
	cut, back time.Time
	// listed are the lists of the start, and again those after back, by path.
	listed, again map[string]int
	inexact       int
	before, peak  float64 // memory
}

// play cuts the link, replaces pods, makes everybody forget that, and mends the link.
func (c *compaction) play(ctx context.Context) error {
	if err := pause(ctx, compactionRest); err != nil {
		return err
	}
	steady, err := c.server.usage()
	if err != nil {
		return err
	}
	if err := c.server.forgetPeak(); err != nil {
		return err
	}
	known, err := etcdctl.Revision(ctx, c.etcd)
	if err != nil {
		return err
	}
	c.before, c.listed, c.cut = steady.rss, c.link.takeLists(), time.Now()
	c.link.close()
	if err := c.replace(ctx); err != nil {
		return fmt.Errorf("replace pods: %w", err)
	}
	if err := c.forget(ctx); err != nil {
		return err
	}
	if err := c.cluster.forgot(ctx, known); err != nil {
		return err
	}
	c.back = time.Now()
	if err := c.link.mend(); err != nil {
		return err
	}
	first := c.cluster.first
	c.inexact = c.all.settle(ctx, time.Minute, within(replacedPods, first+replacedPods))
	if err := pause(ctx, compactionWatch); err != nil {
		return err
	}
	c.again = c.link.takeLists()
	c.peak, err = c.server.peakMemory()
	return err
}

// replace creates pods of each Service, and deletes as many.
func (c *compaction) replace(ctx context.Context) error {
	k := c.cluster
	if err := k.eachPod(ctx, k.first, k.first+replacedPods, k.createPod); err != nil {
		return err
	}
	err := each(ctx, k.services, func(ctx context.Context, svc int) error {
		return k.updateSlice(ctx, svc, replacedPods, k.first+replacedPods)
	})
	if err != nil {
		return err
	}
	return k.eachPod(ctx, 0, replacedPods, k.deletePod)
}

// forget makes etcd forget all revisions but the last, and kills the API server, which would remember them.
func (c *compaction) forget(ctx context.Context) error {
	if err := c.cluster.killAPIServer(); err != nil {
		return err
	}
	last, err := etcdctl.Revision(ctx, c.etcd)
	if err != nil {
		return err
	}
	if err := etcdctl.Compact(ctx, c.etcd, last); err != nil {
		return err
	}
	if err := pollSlowly(ctx, time.Minute, func() bool { return c.cluster.serves(ctx) }); err != nil {
		return fmt.Errorf("wait for the API server to come back: %w", err)
	}
	return nil
}

// forgot returns an error unless the API server refuses to go on from a revision.
func (k *realCluster) forgot(ctx context.Context, revision int64) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	w, err := k.client.CoreV1().Pods("").Watch(ctx, metav1.ListOptions{ResourceVersion: fmt.Sprint(revision)})
	if err == nil {
		defer w.Stop()
		if e := <-w.ResultChan(); e.Type == watch.Error {
			err = apierrors.FromObject(e.Object)
		}
	}
	if apierrors.IsGone(err) || apierrors.IsResourceExpired(err) {
		return nil
	}
	return fmt.Errorf("the API server still knows what came after revision %d (%w)", revision, err)
}

func (c *compaction) print(r *report) {
	k, streams := c.cluster, len(c.all.streams)
	replaced := k.services * replacedPods
	r.titleBeside("", "%d streams, %d pods; %d are deleted and %d created while the API server is out of reach for %s; etcd forgets that",
		streams, k.services*k.first, replaced, replaced, c.back.Sub(c.cut).Round(time.Second))
	wrong := c.notOnce()
	r.none("kinds that are not listed exactly once", len(wrong), fmt.Sprintf("%d of %d %s", len(wrong), len(c.listed), strings.Join(wrong, ", ")))
	removals, last := c.all.removals()
	r.atMost("the last address that is gone is removed within", "s", last.Sub(c.back).Seconds(), 8)
	r.none("streams that don't know in the end what they should", c.inexact, fmt.Sprint(c.inexact))
	r.none("addresses removed that still exist", removals-streams*replacedPods, fmt.Sprint(removals-streams*replacedPods))
	r.none("streams that ended", int(c.all.ended.Load()), failures(c.all))
	r.atMost("peak of the memory, beside before", "×", c.peak/c.before, 1.5)
	r.note("%.0f MiB before, %.0f MiB at the peak", c.before/mebibyte, c.peak/mebibyte)
}

// notOnce returns what was not listed exactly once after the link was mended, with the number of lists.
func (c *compaction) notOnce() []string {
	paths := maps.Clone(c.listed)
	maps.Copy(paths, c.again)
	var wrong []string
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if n := c.again[path]; n != 1 {
			wrong = append(wrong, fmt.Sprintf("%s: %d", path, n))
		}
	}
	return wrong
}

package outage

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

	"github.com/signpostd/signpost/dev/bench/failover"
	"github.com/signpostd/signpost/dev/bench/measure"
	"github.com/signpostd/signpost/dev/bench/mesh"
	"github.com/signpostd/signpost/dev/bench/simulation"
	"github.com/signpostd/signpost/dev/lab/etcdctl"
)

const (
	// replacedPods is how many pods of each Service are deleted, and how many are created: 1,000 of all.
	replacedPods = 2
	// linkAddr is where Signpost reaches the API server. The port has to be one that the kernel gives to
	// nobody while the link is cut.
	linkAddr = "127.0.0.1:18085"
	// compactionRest is how long the server rests before its memory is read.
	compactionRest = 30 * time.Second
	// compactionWatch is how long lists are counted after all streams know everything.
	compactionWatch = 10 * time.Second
)

// measureCompaction measures streams when pods were replaced while Signpost could not reach
// the API server, and etcd has forgotten how.
func measureCompaction(ctx context.Context, r *measure.Report, _ measure.Options) error {
	k, err := startReal(ctx, time.Second, replacedPods)
	if err != nil {
		return err
	}
	defer k.Stop()
	l, err := startLink(k.Cluster)
	if err != nil {
		return err
	}
	defer l.Close()
	config := filepath.Join(k.Dir, "link")
	if err := l.Kubeconfig(config); err != nil {
		return err
	}
	s, err := measure.StartDestination(ctx, k.Dir, config)
	if err != nil {
		return err
	}
	defer s.Stop()
	all, err := k.open(ctx, s)
	if err != nil {
		return err
	}
	defer all.Close()
	c := &compaction{cluster: k, link: l, server: s, all: all}
	if c.etcd, err = etcdctl.URL(k.Dir); err != nil {
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
	*measure.Gateway

	mu    sync.Mutex
	lists map[string]int // that were answered, by path
}

func startLink(k *measure.Cluster) (*link, error) {
	g, err := measure.NewGateway(k)
	if err != nil {
		return nil, err
	}
	l := &link{Gateway: g, lists: map[string]int{}}
	return l, l.mend()
}

// mend makes connections possible, for the first time or after close.
func (l *link) mend() error { return l.Open(linkAddr, l) }

// RoundTrip implements http.RoundTripper.
func (l *link) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := l.Next.RoundTrip(r)
	if isList(r) && failover.Succeeded(res, err) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.lists[r.URL.Path]++
	}
	return res, err
}

// isList reports whether a request begins a list, streamed or in pages. One object is read to learn the present
// resource version.
func isList(r *http.Request) bool {
	query := r.URL.Query()
	_, collection := simulation.CollectionAt(r.URL.Path)
	pages := query.Get("watch") == "" && query.Get("continue") == "" && query.Get("limit") != "1"
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
	server  *measure.Server
	all     *mesh.Mesh
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
	if err := measure.Pause(ctx, compactionRest); err != nil {
		return err
	}
	steady, err := c.server.Usage()
	if err != nil {
		return err
	}
	if err := c.server.ForgetPeak(); err != nil {
		return err
	}
	known, err := etcdctl.Revision(ctx, c.etcd)
	if err != nil {
		return err
	}
	c.before, c.listed, c.cut = steady.Rss, c.link.takeLists(), time.Now()
	c.link.Close()
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
	c.inexact = c.all.Settle(ctx, time.Minute, within(replacedPods, first+replacedPods))
	if err := measure.Pause(ctx, compactionWatch); err != nil {
		return err
	}
	c.again = c.link.takeLists()
	c.peak, err = c.server.PeakMemory()
	return err
}

// replace creates pods of each Service, and deletes as many.
func (c *compaction) replace(ctx context.Context) error {
	k := c.cluster
	if err := k.eachPod(ctx, k.first, k.first+replacedPods, k.createPod); err != nil {
		return err
	}
	err := measure.ForEach(ctx, k.Services, func(ctx context.Context, svc int) error {
		return k.updateSlice(ctx, svc, replacedPods, k.first+replacedPods)
	})
	if err != nil {
		return err
	}
	return k.eachPod(ctx, 0, replacedPods, k.deletePod)
}

// forget makes etcd forget all revisions but the last, and kills the API server, which would remember them.
func (c *compaction) forget(ctx context.Context) error {
	if err := c.cluster.KillAPIServer(); err != nil {
		return err
	}
	last, err := etcdctl.Revision(ctx, c.etcd)
	if err != nil {
		return err
	}
	if err := etcdctl.Compact(ctx, c.etcd, last); err != nil {
		return err
	}
	if err := measure.PollSlowly(ctx, time.Minute, func() bool { return c.cluster.Serves(ctx) }); err != nil {
		return fmt.Errorf("wait for the API server to come back: %w", err)
	}
	return nil
}

// forgot returns an error unless the API server refuses to go on from a revision.
func (k *realCluster) forgot(ctx context.Context, revision int64) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	w, err := k.Client.CoreV1().Pods("").Watch(ctx, metav1.ListOptions{ResourceVersion: fmt.Sprint(revision)})
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

func (c *compaction) print(r *measure.Report) {
	k, streams := c.cluster, len(c.all.Streams)
	replaced := k.Services * replacedPods
	r.TitleBeside("", "%d streams, %d pods; %d are deleted and %d created while the API server is out of reach for %s; etcd forgets that",
		streams, k.Services*k.first, replaced, replaced, c.back.Sub(c.cut).Round(time.Second))
	wrong := c.notOnce()
	r.None("kinds that are not listed exactly once", len(wrong), fmt.Sprintf("%d of %d %s", len(wrong), len(c.listed), strings.Join(wrong, ", ")))
	removals, last := c.all.Removals()
	r.AtMost("the last address that is gone is removed within", "s", last.Sub(c.back).Seconds(), 8)
	r.None("streams that don't know in the end what they should", c.inexact, fmt.Sprint(c.inexact))
	r.None("addresses removed that still exist", removals-streams*replacedPods, fmt.Sprint(removals-streams*replacedPods))
	r.None("streams that ended", int(c.all.Ended.Load()), mesh.Failures(c.all))
	r.AtMost("peak of the memory, beside before", "×", c.peak/c.before, 1.5)
	r.Note("%.0f MiB before, %.0f MiB at the peak", c.before/measure.Mebibyte, c.peak/measure.Mebibyte)
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

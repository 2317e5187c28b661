package controllers

//lint:file-ignore SA1019 Endpoints are deprecated, and still written by what is measured here

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// board is what a watch of this process knows of the objects of one writer: how
// many endpoints each Service has in them, and which flips it hasn't seen yet.
// It keeps no objects: it shares the machine with what is measured.
type board struct {
	pods int // that each Service has

	mu         sync.Mutex
	services   map[string]*tally // by key; those of the layout
	incomplete int
	events     int
	awaited    map[string][]flip // by key of the Service
	pending    int
	latencies  []time.Duration
	err        error
}

// tally counts the endpoints of a Service.
type tally struct {
	objects map[string]int // endpoints by object
	total   int
}

// flip is a change of a pod's readiness that is to show in the objects.
type flip struct {
	ip    string
	ready bool
	since time.Time
}

func (l Layout) newBoard() *board {
	b := &board{pods: l.Pods, services: map[string]*tally{}, incomplete: l.Services, awaited: map[string][]flip{}}
	for i := range l.Services {
		b.services[l.serviceKey(i)] = &tally{objects: map[string]int{}}
	}
	return b
}

// watch returns a board for each writer, which are kept until stop is called.
func (run *run) watch(ctx context.Context, writers ...Writer) (boards []*board, stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	stop = func() {
		cancel()
		following.Wait()
	}
	for _, w := range writers {
		b := run.newBoard()
		events, err := run.list(ctx, w, b)
		if err != nil {
			stop()
			return nil, nil, err
		}
		following.Go(func() { run.follow(ctx, w, b, events) })
		boards = append(boards, b)
	}
	return boards, stop, nil
}

// list puts what exists on the board and returns the watch for the rest.
func (run *run) list(ctx context.Context, w Writer, b *board) (watch.Interface, error) {
	if w == SlicesWriter {
		client := run.client.DiscoveryV1().EndpointSlices(metav1.NamespaceAll)
		list, err := client.List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("list EndpointSlices: %w", err)
		}
		for i := range list.Items {
			b.put(contentOf(&list.Items[i]))
		}
		return client.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	}
	client := run.client.CoreV1().Endpoints(metav1.NamespaceAll)
	list, err := client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list Endpoints: %w", err)
	}
	for i := range list.Items {
		b.put(contentOf(&list.Items[i]))
	}
	return client.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
}

// follow keeps the board up to date. The API server ends a watch that doesn't read
// fast enough, which happens on a machine without a core to spare.
func (run *run) follow(ctx context.Context, w Writer, b *board, events watch.Interface) {
	for {
		for e := range events.ResultChan() {
			b.see(e)
		}
		events.Stop()
		if ctx.Err() != nil {
			return
		}
		run.interrupted.Add(1)
		var err error
		if events, err = run.list(ctx, w, b); err != nil {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.err = fmt.Errorf("watch again: %w", err)
			return
		}
	}
}

func (b *board) see(e watch.Event) {
	b.mu.Lock()
	b.events++
	b.mu.Unlock()
	c := contentOf(e.Object)
	if e.Type == watch.Deleted {
		c.endpoints = 0
	}
	b.put(c)
}

// content is what a board takes from an object.
type content struct {
	service, name string // the key of the Service, and the name of the object
	endpoints     int
	shows         func(flip) bool
}

// contentOf returns the content of Endpoints or an EndpointSlice.
func contentOf(object runtime.Object) content {
	switch o := object.(type) {
	case *corev1.Endpoints:
		c := content{service: o.Namespace + "/" + o.Name, name: o.Name, shows: func(f flip) bool { return endpointsShow(o, f) }}
		for _, s := range o.Subsets {
			c.endpoints += len(s.Addresses) + len(s.NotReadyAddresses)
		}
		return c
	case *discoveryv1.EndpointSlice:
		return content{
			service: o.Namespace + "/" + o.Labels[discoveryv1.LabelServiceName], name: o.Name,
			endpoints: len(o.Endpoints), shows: func(f flip) bool { return sliceShows(o, f) },
		}
	default:
		return content{} // of no Service
	}
}

// put notes the endpoints of an object and answers the flips that it shows.
func (b *board) put(c content) {
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	t, ok := b.services[c.service]
	if !ok {
		return
	}
	b.count(t, c.name, c.endpoints)
	awaited := b.awaited[c.service]
	left := slices.DeleteFunc(awaited, func(f flip) bool {
		seen := c.shows(f)
		if seen {
			b.latencies = append(b.latencies, now.Sub(f.since))
		}
		return seen
	})
	b.pending -= len(awaited) - len(left)
	b.awaited[c.service] = left
}

func (b *board) count(t *tally, object string, endpoints int) {
	was := t.total == b.pods
	t.total += endpoints - t.objects[object]
	t.objects[object] = endpoints
	switch is := t.total == b.pods; {
	case is && !was:
		b.incomplete--
	case was && !is:
		b.incomplete++
	}
}

func endpointsShow(o *corev1.Endpoints, f flip) bool {
	for _, s := range o.Subsets {
		addresses := s.NotReadyAddresses
		if f.ready {
			addresses = s.Addresses
		}
		for _, a := range addresses {
			if a.IP == f.ip {
				return true
			}
		}
	}
	return false
}

func sliceShows(o *discoveryv1.EndpointSlice, f flip) bool {
	for _, e := range o.Endpoints {
		if e.Addresses[0] == f.ip {
			return (e.Conditions.Ready == nil || *e.Conditions.Ready) == f.ready
		}
	}
	return false
}

// expect notes a flip that is about to be written.
func (b *board) expect(service string, f flip) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.awaited[service] = append(b.awaited[service], f)
	b.pending++
}

func (b *board) isComplete() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.incomplete == 0
}

// isCurrent reports whether all flips have shown.
func (b *board) isCurrent() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.pending == 0
}

// seen returns how many events there were.
func (b *board) seen() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.events
}

func (b *board) failed() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// takeLatencies returns, sorted, how long the flips took to show, and forgets them.
func (b *board) takeLatencies() []time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.latencies
	b.latencies = nil
	slices.Sort(all)
	return all
}

// String returns what is incomplete.
func (b *board) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return fmt.Sprintf("%d of %d Services are incomplete, %d flips don't show", b.incomplete, len(b.services), b.pending)
}

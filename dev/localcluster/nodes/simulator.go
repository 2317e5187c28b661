// Package nodes simulates Kubernetes nodes: objects without machines, whose pods become Running and
// Ready with addresses, but run nothing.
//
// The cluster package starts one Simulator per local cluster. It does the part of a kubelet that
// the rest of Kubernetes can see: it registers nodes spread over three zones, keeps their leases
// fresh, gives every pod bound to them an IPv4 and an IPv6 address, reports its containers as
// started and, a little later, as ready, and removes deleted pods. Readiness gates are honoured.
// The annotations signpost.dev/ready, signpost.dev/phase and signpost.dev/terminate-after steer a
// pod.
//
// Others write to the same nodes, leases and pods. So an object that exists is changed by a patch
// with nothing in it but what is a kubelet's to say: no patch fails because the object has changed
// since it was read, and none undoes that change.
//
// It reads pods through one reflector that retries at least once a second, so that it is back at
// work right after an outage of the API server. Nothing is kept but the address pools, which are
// rebuilt from the pods found at start.
//
// Concurrency: Register and Run are called once, in that order. Inside, the reflector's goroutine
// fills the store and marks pods; a fixed number of workers take the marks, one pod never on two
// workers at a time.
package nodes

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

const (
	workers  = 16
	minRetry = 50 * time.Millisecond
	maxRetry = time.Second
)

// Options configure a Simulator.
type Options struct {
	Client     kubernetes.Interface // without client-side rate limits
	Count      int                  // how many nodes
	ReadyDelay time.Duration        // between the start of a pod and its readiness
	Log        *slog.Logger
}

// Simulator plays the kubelets of all simulated nodes.
type Simulator struct {
	client     kubernetes.Interface
	readyDelay time.Duration
	log        *slog.Logger
	pools      map[string]*pool // by node name; the map itself never changes

	pods    cache.Store
	queue   workqueue.TypedRateLimitingInterface[string]
	started sync.Map // pod UID → time.Time at which the simulator started it
}

// New returns a simulator that does nothing yet.
func New(options Options) *Simulator {
	s := &Simulator{
		client:     options.Client,
		readyDelay: options.ReadyDelay,
		log:        options.Log,
		pools:      map[string]*pool{},
		pods:       cache.NewStore(cache.MetaNamespaceKeyFunc),
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](minRetry, maxRetry),
		),
	}
	for i := range options.Count {
		s.pools[nodeName(i)] = newPool(i)
	}
	return s
}

// Register creates the nodes and returns when all of them are Ready.
func (s *Simulator) Register(ctx context.Context) error {
	for i := range len(s.pools) {
		if err := s.register(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// Run simulates until ctx ends.
func (s *Simulator) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	defer s.queue.ShutDown()
	for range workers {
		running.Go(func() { s.work(ctx) })
	}
	running.Go(func() { wait.UntilWithContext(ctx, s.heartbeat, heartbeat) })

	bound := fields.OneTermNotEqualSelector("spec.nodeName", "")
	source := cache.NewListWatchFromClient(s.client.CoreV1().RESTClient(), "pods", corev1.NamespaceAll, bound)
	backoff := &wait.Backoff{Duration: minRetry, Factor: 2, Jitter: 0.1, Steps: 10, Cap: maxRetry}
	cache.NewReflectorWithOptions(source, &corev1.Pod{}, (*podStore)(s), cache.ReflectorOptions{
		Name: "simulated nodes", Backoff: backoff,
	}).RunWithContext(ctx)
}

// heartbeat renews every lease once. One that fails does not keep the others from being renewed:
// after the grace period their nodes would be given up.
func (s *Simulator) heartbeat(ctx context.Context) {
	var errs []error
	for i := range len(s.pools) {
		if err := s.renew(ctx, i); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 && ctx.Err() == nil { // an outage is one line in the log, not one for each node
		s.log.Warn("node heartbeats failed, retrying", "nodes", len(errs), "in", heartbeat, "first", errs[0])
	}
}

func (s *Simulator) work(ctx context.Context) {
	for {
		key, shutdown := s.queue.Get()
		if shutdown {
			return
		}
		if err := s.reconcile(ctx, key); err != nil && ctx.Err() == nil {
			s.log.Warn("pod simulation failed, retrying", "pod", key, "err", err)
			s.queue.AddRateLimited(key)
		} else {
			s.queue.Forget(key)
		}
		s.queue.Done(key)
	}
}

// podStore is where the reflector puts what it reads: the store, and a mark for each pod that changed.
type podStore Simulator

var _ cache.ReflectorStore = (*podStore)(nil)

// Add stores a new pod.
func (p *podStore) Add(obj any) error { return p.Update(obj) }

// Update stores a changed pod.
func (p *podStore) Update(obj any) error {
	if err := p.pods.Update(obj); err != nil {
		return fmt.Errorf("store pod: %w", err)
	}
	return p.mark(obj)
}

// Delete forgets a pod and takes its addresses back.
func (p *podStore) Delete(obj any) error {
	if err := p.pods.Delete(obj); err != nil {
		return fmt.Errorf("forget pod: %w", err)
	}
	if pod, ok := obj.(*corev1.Pod); ok {
		(*Simulator)(p).forget(pod)
	}
	return nil
}

// Replace stores the complete list. The addresses in it are claimed before any worker hands out another one.
func (p *podStore) Replace(objs []any, version string) error {
	alive := map[types.UID]*corev1.Pod{}
	for _, obj := range objs {
		if pod, ok := obj.(*corev1.Pod); ok {
			alive[pod.UID] = pod
		}
	}
	for _, obj := range p.pods.List() {
		if pod, ok := obj.(*corev1.Pod); ok && alive[pod.UID] == nil {
			(*Simulator)(p).forget(pod)
		}
	}
	for _, pod := range alive {
		p.claim(pod)
	}
	if err := p.pods.Replace(objs, version); err != nil {
		return fmt.Errorf("store the list of pods: %w", err)
	}
	for _, obj := range objs {
		if err := p.mark(obj); err != nil {
			return err
		}
	}
	return nil
}

// Resync has nothing to do: the simulator needs no reminders.
func (p *podStore) Resync() error { return nil }

func (p *podStore) mark(obj any) error {
	key, err := cache.MetaNamespaceKeyFunc(obj)
	if err != nil {
		return fmt.Errorf("name pod: %w", err)
	}
	p.queue.Add(key)
	return nil
}

func (p *podStore) claim(pod *corev1.Pod) {
	addr, err := netip.ParseAddr(strings.TrimSpace(pod.Status.PodIP))
	if pool, ok := p.pools[pod.Spec.NodeName]; ok && err == nil && !pod.Spec.HostNetwork {
		pool.claim(pod.UID, addr)
	}
}

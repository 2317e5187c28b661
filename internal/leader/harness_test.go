package leader

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/signpostd/signpost/testkit/kubetest"
	"github.com/signpostd/signpost/testkit/metrictest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(kubetest.Wrap(m)) }

var errDown = errors.New("server is down")

// store is a Lease in memory.
type store struct {
	mu      sync.Mutex
	version int
	record  *resourcelock.LeaderElectionRecord
}

// view is a store as one process sees it.
type view struct {
	*store
	identity string
	version  int
	// down makes requests fail. loseResponses makes writes succeed without a response. before is called
	// before each write.
	down, loseResponses *bool
	before              func(resourcelock.LeaderElectionRecord)
}

func (v *view) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if *v.down {
		return nil, nil, errDown
	}
	if v.record == nil {
		return nil, nil, apierrors.NewNotFound(coordinationv1.Resource("leases"), "a")
	}
	v.version = v.store.version
	record := *v.record
	return &record, fmt.Append(nil, record), nil
}

func (v *view) Create(_ context.Context, r resourcelock.LeaderElectionRecord) error {
	return v.write(r, 0)
}

func (v *view) Update(_ context.Context, r resourcelock.LeaderElectionRecord) error {
	return v.write(r, v.version)
}

func (v *view) write(r resourcelock.LeaderElectionRecord, version int) error {
	if v.before != nil {
		v.before(r)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if *v.down {
		return errDown
	}
	if version != v.store.version {
		return apierrors.NewConflict(coordinationv1.Resource("leases"), "a", errors.New("changed"))
	}
	v.store.version++
	v.record = &r
	if *v.loseResponses {
		return errDown
	}
	v.version = v.store.version
	return nil
}

func (v *view) RecordEvent(string) {}
func (v *view) Identity() string   { return v.identity }
func (v *view) Describe() string   { return "ns/a" }

func (s *store) holder() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.record == nil {
		return "(none)"
	}
	return s.record.HolderIdentity
}

func (s *store) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// candidate is an elector of a store, with the observed results.
type candidate struct {
	*Elector
	store               *store
	registry            *prometheus.Registry
	log                 bytes.Buffer
	down, loseResponses bool // under the mutex of the store
	before              func(resourcelock.LeaderElectionRecord)
	stop                context.CancelFunc
	done                chan error // what Run returned
}

func newCandidate(t *testing.T, s *store, identity string) *candidate {
	t.Helper()
	c := &candidate{store: s, registry: prometheus.NewRegistry(), done: make(chan error, 1)}
	var err error
	c.Elector, err = New(Config{
		Client: struct {
			coordinationclient.LeasesGetter
		}{}, Namespace: "ns", Name: "a", Identity: identity,
		Log: slog.New(slog.NewTextHandler(&c.log, nil)), Registerer: c.registry,
	})
	if err != nil {
		t.Fatal(err)
	}
	c.lease = func() resourcelock.Interface {
		return &view{store: s, identity: identity, down: &c.down, loseResponses: &c.loseResponses, before: c.before}
	}
	return c
}

func (c *candidate) start(t *testing.T, lead func(context.Context) error) {
	ctx, stop := context.WithCancel(t.Context())
	c.stop = stop
	go func() { c.done <- c.Run(ctx, lead) }()
}

func (c *candidate) set(down bool) { c.store.set(func() { c.down = down }) }

// metric returns the only value of a metric.
func (c *candidate) metric(t *testing.T, name string) float64 {
	t.Helper()
	return metrictest.Only(t, c.registry, name)
}

// messages returns the messages of the log, without attributes.
func (c *candidate) messages() string {
	var all []string
	for line := range strings.Lines(c.log.String()) {
		_, rest, _ := strings.Cut(line, "msg=")
		msg, _, _ := strings.Cut(rest, " lease=")
		all = append(all, strings.Trim(msg, `"`))
	}
	return strings.Join(all, "\n")
}

// untilDone is work that ends with its context.
func untilDone(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func wantClosed(t *testing.T, f *Fence, reason string) {
	t.Helper()
	err := f.Check()
	if !errors.Is(err, ErrNotLeading) || !strings.Contains(err.Error(), reason) || !strings.Contains(err.Error(), "lease ns/a") {
		t.Errorf("the fence says %v, want it closed: lease ns/a, %s", err, reason)
	}
}

func wantOpen(t *testing.T, f *Fence) {
	t.Helper()
	if err := f.Check(); err != nil {
		t.Errorf("the fence is closed: %v", err)
	}
}

func receive[T any](t *testing.T, within time.Duration, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(within):
		t.Fatalf("nothing received within %v", within)
		panic("unreachable")
	}
}

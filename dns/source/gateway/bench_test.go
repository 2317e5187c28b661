package gateway_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/dns/source/gateway"
	"github.com/signpostd/signpost/internal/objectserver"
	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/testkit/heaptest"
)

// Sizes of the benchmarks: the routes are on 10 Gateways. The Gateway that changes has 100 routes, one of
// which is in the namespace that changes.
const (
	gateways  = 10
	concerned = 100
)

// bench is a running source with its server.
type bench struct {
	b      *testing.B
	server *objectserver.Server
	source source.Source

	mu      sync.Mutex
	pending map[source.Key]bool
	wake    chan struct{}
}

func benchRoute(i int, host string) *unstructured.Unstructured {
	// The first routes belong to the Gateway that changes.
	of := "edge-0"
	if i >= concerned {
		of = fmt.Sprint("edge-", 1+i%(gateways-1))
	}
	ref := map[string]any{"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": of, "namespace": "infra"}
	rule := map[string]any{
		"matches":     []any{map[string]any{"path": map[string]any{"type": "PathPrefix", "value": "/"}}},
		"backendRefs": []any{map[string]any{"group": "", "kind": "Service", "name": "shop", "port": int64(80), "weight": int64(1)}},
	}
	condition := func(of string) any {
		return map[string]any{"type": of, "status": "True", "reason": of, "message": "", "observedGeneration": int64(1), "lastTransitionTime": "2026-01-01T00:00:00Z"}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute",
		"metadata": map[string]any{"name": fmt.Sprint("shop-", i), "namespace": fmt.Sprint("team-", i)},
		"spec":     map[string]any{"hostnames": []any{host}, "parentRefs": []any{ref}, "rules": []any{rule, rule}},
		"status": map[string]any{"parents": []any{map[string]any{
			"controllerName": "example.net/controller", "parentRef": ref, "conditions": []any{condition("Accepted"), condition("ResolvedRefs")},
		}}},
	}}
}

func benchGateway(i int, address string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway",
		"metadata": map[string]any{"name": fmt.Sprint("edge-", i), "namespace": "infra"},
		"spec": map[string]any{"listeners": []any{map[string]any{
			"name": "web", "port": int64(80), "protocol": "HTTP", "hostname": "*.example.org",
			"allowedRoutes": map[string]any{"namespaces": map[string]any{
				"from": "Selector", "selector": map[string]any{"matchLabels": map[string]any{"edge": "allowed"}},
			}},
		}}},
		"status": map[string]any{"addresses": []any{map[string]any{"type": "IPAddress", "value": address}}},
	}}
}

func benchNamespace(i int, label string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace",
		"metadata": map[string]any{"name": fmt.Sprint("team-", i), "labels": map[string]any{"edge": label}},
	}}
}

// newBench fills the server with objects.
func newBench(b *testing.B, routes int) *bench {
	s := &bench{b: b, pending: map[source.Key]bool{}, wake: make(chan struct{}, 1)}
	var kinds []schema.GroupKind
	for _, r := range gateway.HTTPRoute().New().Resources() {
		kinds = append(kinds, r.Kind.GroupKind())
	}
	s.server = objectserver.New(kinds...)
	for i := range gateways {
		s.put(benchGateway(i, "192.0.2.1"))
	}
	for i := range routes {
		s.put(benchNamespace(i, "allowed"))
		s.put(benchRoute(i, fmt.Sprintf("shop-%d.example.org", i)))
	}
	return s
}

func (s *bench) put(obj *unstructured.Unstructured) {
	if err := s.server.Put(obj); err != nil {
		s.b.Fatal(err)
	}
}

// open runs the source until the returned function is called.
func (s *bench) open() (end func()) {
	settings, err := source.NewOptions().Settings()
	if err != nil {
		s.b.Fatal(err)
	}
	plugin := gateway.HTTPRoute()
	if s.source, err = plugin.Open(plugin.New(), source.Input{Settings: settings, Changed: s.changed}); err != nil {
		s.b.Fatal(err)
	}
	cluster, err := kube.New(kube.Options{Config: s.server.Config(), Logger: slog.New(slog.DiscardHandler)}, s.source.Tables...)
	if err != nil {
		s.b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- cluster.Run(ctx) }()
	<-cluster.Settled()
	return func() {
		cancel()
		<-done
	}
}

func (s *bench) changed(k source.Key) {
	s.mu.Lock()
	s.pending[k] = true
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// evaluate evaluates changed objects until the given number was evaluated.
func (s *bench) evaluate(want int) {
	for left := want; left > 0; {
		<-s.wake
		s.mu.Lock()
		changed := s.pending
		s.pending = map[source.Key]bool{}
		s.mu.Unlock()
		for k := range changed {
			s.source.Evaluate(k)
		}
		left -= len(changed)
	}
}

// cpu returns the CPU time of the process, including the server.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkChange reports the CPU time from a change in the API server to the records, including the server.
// It doesn't depend on the number of unaffected routes.
func BenchmarkChange(b *testing.B) {
	changes := []struct {
		name      string
		concerned int
		// object returns the object, changed if i is even, and unchanged if i is odd.
		object func(i int) *unstructured.Unstructured
	}{
		{"route", 1, func(i int) *unstructured.Unstructured {
			return benchRoute(0, fmt.Sprintf("shop-%d.example.org", 1-i%2))
		}},
		{"address", concerned, func(i int) *unstructured.Unstructured { return benchGateway(0, fmt.Sprint("192.0.2.", 2-i%2)) }},
		{"labels", 1, func(i int) *unstructured.Unstructured { return benchNamespace(0, []string{"denied", "allowed"}[i%2]) }},
	}
	for _, routes := range []int{1000, 10_000} {
		s := newBench(b, routes)
		end := s.open()
		s.evaluate(routes)
		for _, change := range changes {
			b.Run(fmt.Sprintf("%s/routes=%d", change.name, routes), func(b *testing.B) {
				before, i := cpu(b), 0
				for ; b.Loop(); i++ {
					s.put(change.object(i))
					s.evaluate(change.concerned)
				}
				b.ReportMetric(float64((cpu(b)-before).Microseconds())/float64(i), "cpu-µs/op")
				if i%2 == 1 { // the next run must begin in the same state
					s.put(change.object(1))
					s.evaluate(change.concerned)
				}
			})
		}
		end()
	}
}

// BenchmarkStart reports the time until all routes are read and evaluated, and the memory of each route with
// its namespace.
func BenchmarkStart(b *testing.B) {
	const routes = 10_000
	s := newBench(b, routes)
	for b.Loop() {
		before, used := heaptest.InUse(), cpu(b)
		end := s.open()
		s.evaluate(routes)
		used = cpu(b) - used
		b.ReportMetric(float64(used.Milliseconds()), "cpu-ms/start")
		b.ReportMetric(float64(heaptest.InUse()-before)/routes, "B/route")
		end()
	}
}

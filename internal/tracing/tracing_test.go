package tracing

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"github.com/signpostd/signpost/testkit/logtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// receiver is an OpenTelemetry collector: a real gRPC server on loopback.
type receiver struct {
	collectorpb.UnimplementedTraceServiceServer
	address string
	// hang, if not nil, delays requests until it is closed.
	hang chan struct{}

	mu       sync.Mutex
	spans    []*tracepb.Span
	resource []string
	err      error
}

func startReceiver(t *testing.T, address string, hang chan struct{}) *receiver {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	r := &receiver{address: l.Addr().String(), hang: hang}
	server := grpc.NewServer()
	collectorpb.RegisterTraceServiceServer(server, r)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l)
	}()
	t.Cleanup(func() {
		if hang != nil {
			close(hang)
		}
		server.Stop()
		<-done
	})
	return r
}

// Export implements the service of collectors.
func (r *receiver) Export(ctx context.Context, in *collectorpb.ExportTraceServiceRequest) (*collectorpb.ExportTraceServiceResponse, error) {
	if r.hang != nil {
		select {
		case <-r.hang:
		case <-ctx.Done():
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, of := range in.GetResourceSpans() {
		r.resource = nil
		for _, a := range of.GetResource().GetAttributes() {
			r.resource = append(r.resource, a.GetKey()+"="+a.GetValue().GetStringValue())
		}
		for _, scope := range of.GetScopeSpans() {
			r.spans = append(r.spans, scope.GetSpans()...)
		}
	}
	return &collectorpb.ExportTraceServiceResponse{}, r.err
}

// lines returns the received spans: the name of each span, its attributes and its status.
func (r *receiver) lines() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var lines []string
	for _, s := range r.spans {
		words := []string{s.GetName()}
		for _, a := range s.GetAttributes() {
			v := a.GetValue().GetStringValue()
			if a.GetValue().GetStringValue() == "" {
				v = a.GetValue().String()
			}
			words = append(words, a.GetKey()+"="+v)
		}
		if s.GetStatus().GetMessage() != "" {
			words = append(words, s.GetStatus().GetCode().String()+": "+s.GetStatus().GetMessage())
		}
		lines = append(lines, strings.Join(words, " "))
	}
	slices.Sort(lines)
	return lines
}

// opened returns a tracer for a collector, with its log and metrics.
func opened(t *testing.T, collector string) (*Tracer, *logtest.Buffer, *prometheus.Registry) {
	t.Helper()
	log, registry := &logtest.Buffer{}, prometheus.NewRegistry()
	tracer, err := Open(Config{Collector: collector, Roles: "destination,dns", Log: slog.New(slog.NewTextHandler(log, nil)), Registerer: registry})
	if err != nil {
		t.Fatal(err)
	}
	return tracer, log, registry
}

// spans returns the numbers of spans by result.
func spans(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	n := map[string]float64{}
	for _, m := range families[0].GetMetric() {
		n[m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
	}
	return n
}

// Waiting spans are sent at the end, with their attributes, errors and the resource.
func TestSpansReachCollector(t *testing.T) {
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test")
	r := startReceiver(t, "127.0.0.1:0", nil)
	tracer, log, registry := opened(t, r.address)
	s := tracer.Begin("destination.Get")
	s.Text("signpost.authority", "web.shop:80")
	s.Number("signpost.messages.sent", 3)
	s.End(nil)
	s = tracer.Begin("dns.apply")
	s.Text("signpost.zone", "a\xffb")
	s.Text("long", strings.Repeat("ä", 500))
	s.End(errors.New("no \xff" + strings.Repeat("x", 1000)))
	tracer.Close()
	want := []string{
		`destination.Get signpost.authority=web.shop:80 signpost.messages.sent=int_value:3`,
		`dns.apply signpost.zone=a�b long=` + strings.Repeat("ä", 126) + `… STATUS_CODE_ERROR: no ` + strings.Repeat("x", 249) + `…`,
	}
	if diff := cmp.Diff(want, r.lines()); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
	for _, want := range []string{"service.name=signpost", "signpost.roles=destination,dns", "deployment.environment=test"} {
		if !slices.Contains(r.resource, want) {
			t.Errorf("the resource %v lacks %s", r.resource, want)
		}
	}
	if diff := cmp.Diff(map[string]float64{"sent": 2, "failed": 0}, spans(t, registry)); diff != "" {
		t.Error(diff)
	}
	if log.String() != "" {
		t.Errorf("log:\n%s", log)
	}
}

// Without a collector there is no tracer, and spans cost nothing.
func TestNoCollector(t *testing.T) {
	tracer, err := Open(Config{})
	if tracer != nil || err != nil {
		t.Fatal(tracer, err)
	}
	failure := errors.New("x")
	if n := testing.AllocsPerRun(100, func() {
		s := tracer.Begin("destination.Get")
		s.Text("a", "b")
		s.Number("c", 1)
		s.End(failure)
	}); n > 0 {
		t.Errorf("%v allocations for a span without a collector", n)
	}
	tracer.Close()
}

// An unreachable or hanging collector delays no operation: spans start and end at once, spans that don't fit
// are dropped, Close returns within its limit, and the log has one line.
func TestUnresponsiveCollectors(t *testing.T) {
	away, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = away.Close()
	for name, address := range map[string]string{
		"away":  away.Addr().String(),
		"hangs": startReceiver(t, "127.0.0.1:0", make(chan struct{})).address,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tracer, log, registry := opened(t, address)
			begun := time.Now()
			for range 10 * queueSize {
				s := tracer.Begin("controllers.sync")
				s.Text("signpost.service", "shop/web")
				s.End(nil)
			}
			// Waiting for the collector would take this long for each batch.
			if took := time.Since(begun); took > exportTimeout {
				t.Errorf("%d spans took %v", 10*queueSize, took)
			}
			begun = time.Now()
			tracer.Close()
			if took := time.Since(begun); took > flushTimeout+5*time.Second {
				t.Errorf("the end took %v", took)
			}
			text := log.String()
			if n := strings.Count(text, "\n"); n != 1 || !strings.Contains(text, "Traces can't be sent and are dropped") || !strings.Contains(text, "collector="+address) {
				t.Errorf("%d lines:\n%s", n, text)
			}
			if n := spans(t, registry); n["sent"] > 0 || n["failed"] == 0 {
				t.Errorf("spans: %v", n)
			}
		})
	}
}

// The log has a line when sending starts to fail and one when it works again, and no further lines during a
// lasting failure.
func TestFailuresInTheLog(t *testing.T) {
	out := &logtest.Buffer{}
	e, err := newExporter(collector{address: "127.0.0.1:1", plain: true}, Config{Log: slog.New(slog.NewTextHandler(out, nil)), Registerer: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Shutdown(t.Context()) }()
	for range 100 {
		e.logChange(errors.New("refused"))
		e.logChange(errors.New("refused again"))
		e.logChange(nil)
		e.logChange(nil)
	}
	text := regexp.MustCompile(`(?m)^time=\S+ `).ReplaceAllString(out.String(), "")
	want := `level=WARN msg="Traces can't be sent and are dropped until the collector accepts them: check --trace-collector, which needs OTLP over gRPC" collector=127.0.0.1:1 err=refused
level=INFO msg="Traces are sent again" collector=127.0.0.1:1
`
	if diff := cmp.Diff(want, text); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

// A registry accepts one tracer.
func TestOneTracerPerRegistry(t *testing.T) {
	tracer, _, registry := opened(t, "127.0.0.1:1")
	defer tracer.Close()
	_, err := Open(Config{Collector: "127.0.0.1:1", Registerer: registry})
	if err == nil || !strings.Contains(err.Error(), "one tracer for each registry") {
		t.Error(err)
	}
	if n := testutil.CollectAndCount(registry, "signpost_trace_spans_total"); n != 2 {
		t.Errorf("%d series", n)
	}
}

func TestParseCollector(t *testing.T) {
	const refused = "must be HOST:PORT of an OpenTelemetry collector that takes OTLP over gRPC, or https://HOST:PORT for TLS"
	for text, want := range map[string]struct {
		to  collector
		err string
	}{
		"collector:4317":         {to: collector{"collector:4317", true}},
		"[::1]:4317":             {to: collector{"[::1]:4317", true}},
		"http://collector":       {to: collector{"collector:4317", true}},
		"https://collector:443/": {to: collector{"collector:443", false}},
		"https://[::1]":          {to: collector{"[::1]:4317", false}},
		"":                       {err: refused},
		"collector":              {err: refused},
		":4317":                  {err: refused},
		"collector:0":            {err: refused},
		"collector:otlp":         {err: refused},
		"http://c:99999":         {err: refused},
		"ftp://collector":        {err: refused},
		"https://c/v1/traces":    {err: refused + ", without a user, a path or a query"},
		"https://u:p@c":          {err: refused + ", without a user, a path or a query"},
	} {
		to, err := ParseCollector(text)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if to != want.to || got != want.err {
			t.Errorf("%q: %v, %q; want %v, %q", text, to, got, want.to, want.err)
		}
	}
}

package tracing

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"golang.org/x/time/rate"
	"google.golang.org/grpc/credentials"
)

// logEvery is the interval between log lines about failures.
const logEvery = 10 * time.Minute

// exporter sends spans, and counts and logs failures.
type exporter struct {
	sdk.SpanExporter
	collector    string
	log          *slog.Logger
	sent, failed prometheus.Counter
	// ending cancels the export under way. down is closed when nothing more will be sent.
	ending context.Context
	end    context.CancelFunc
	down   chan struct{}

	mu      sync.Mutex
	limit   *rate.Limiter
	failing bool
	// logged is true if the current failures were logged.
	logged bool
}

// newExporter returns an exporter that connects when it has something to send.
func newExporter(to collector, c Config) (*exporter, error) {
	options := []otlptracegrpc.Option{otlptracegrpc.WithEndpoint(to.address), otlptracegrpc.WithTimeout(exportTimeout)}
	if to.plain {
		options = append(options, otlptracegrpc.WithInsecure())
	} else {
		options = append(options, otlptracegrpc.WithTLSCredentials(credentials.NewTLS(nil)))
	}
	e := &exporter{collector: to.address, log: c.Log, limit: rate.NewLimiter(rate.Every(logEvery), 1), down: make(chan struct{})}
	if err := e.measure(c.Registerer); err != nil {
		return nil, err
	}
	var err error
	if e.SpanExporter, err = otlptracegrpc.New(context.Background(), options...); err != nil {
		return nil, fmt.Errorf("make the client of the trace collector %s: %w", to.address, err)
	}
	e.ending, e.end = context.WithCancel(context.Background())
	return e, nil
}

// measure registers the metric of spans.
func (e *exporter) measure(r prometheus.Registerer) error {
	spans := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "signpost_trace_spans_total", Help: "Spans that the collector of --trace-collector took (result=sent), or that were dropped because it didn't (result=failed).",
	}, []string{"result"})
	if err := r.Register(spans); err != nil {
		return fmt.Errorf("register the metric of traces: %w: make one tracer for each registry", err)
	}
	e.sent, e.failed = spans.WithLabelValues("sent"), spans.WithLabelValues("failed")
	return nil
}

// ExportSpans implements sdk.SpanExporter. It returns no error, because the SDK would write it to a log of
// its own.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.ending, cancel)()
	err := e.SpanExporter.ExportSpans(ctx, spans)
	if err != nil {
		e.failed.Add(float64(len(spans)))
	} else {
		e.sent.Add(float64(len(spans)))
	}
	e.logChange(err)
	return nil
}

// Shutdown implements sdk.SpanExporter. It is called once, when everything was sent or dropped.
func (e *exporter) Shutdown(ctx context.Context) error {
	defer close(e.down)
	return e.SpanExporter.Shutdown(ctx)
}

// logChange logs when sending starts to fail, and when it works again.
func (e *exporter) logChange(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case err != nil && !e.failing:
		if e.logged = e.limit.Allow(); e.logged {
			e.log.Warn("Traces can't be sent and are dropped until the collector accepts them: check --trace-collector, which needs OTLP over gRPC", "collector", e.collector, "err", bounded(err.Error()))
		}
	case err == nil && e.failing && e.logged:
		e.log.Info("Traces are sent again", "collector", e.collector)
	}
	e.failing = err != nil
}

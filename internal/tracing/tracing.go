// Package tracing sends spans to an OpenTelemetry collector: one for each call of the Destination API, each
// sync of a controller and each batch of DNS changes. Package process makes the [Tracer] with [Open] from
// --trace-collector and passes it to the roles.
//
// Without a collector the tracer is nil. A nil Tracer returns nil spans, whose methods do nothing and
// allocate nothing, so that callers need no special cases.
//
// Traced operations never wait for the collector. Spans wait in a bounded queue. Spans that don't fit, or
// that the collector doesn't accept in time, are dropped and counted. The start and the end of failures are
// logged.
//
// # Concurrency
//
// A Tracer may be used from any goroutine. A Span belongs to one goroutine at a time.
package tracing

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/signpostd/signpost/internal/version"
)

const (
	// queueSize is how many spans may wait, and batchSize how many are sent at once.
	queueSize, batchSize = 2048, 512
	// batchEvery is how long a span waits for others.
	batchEvery = 5 * time.Second
	// exportTimeout bounds the time to send a batch, with all attempts.
	exportTimeout = 10 * time.Second
	// flushTimeout bounds [Tracer.Close].
	flushTimeout = 3 * time.Second
)

// Config configures a [Tracer].
type Config struct {
	// Collector is as for [ParseCollector]; empty for no traces.
	Collector string
	// Roles are the roles of the process, an attribute of all spans.
	Roles      string
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

// Tracer starts spans. Make one with [Open]; a nil Tracer starts none.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	out      *exporter
}

// Open returns the tracer of a process; nil without a collector. It connects later, and retries for ever.
// Call [Tracer.Close] at the end.
func Open(c Config) (*Tracer, error) {
	if c.Collector == "" {
		return nil, nil
	}
	to, err := ParseCollector(c.Collector)
	if err != nil {
		return nil, fmt.Errorf("trace collector: %w", err)
	}
	out, err := newExporter(to, c)
	if err != nil {
		return nil, err
	}
	return open(out, c.Roles), nil
}

// open returns a tracer that sends spans to an exporter.
func open(out *exporter, roles string) *Tracer {
	limits := sdk.NewSpanLimits()
	limits.AttributeValueLengthLimit = maxText
	provider := sdk.NewTracerProvider(
		sdk.WithResource(describe(roles)),
		sdk.WithRawSpanLimits(limits),
		sdk.WithBatcher(out,
			sdk.WithMaxQueueSize(queueSize), sdk.WithMaxExportBatchSize(batchSize),
			sdk.WithBatchTimeout(batchEvery), sdk.WithExportTimeout(exportTimeout)),
	)
	return &Tracer{provider: provider, tracer: provider.Tracer("github.com/signpostd/signpost"), out: out}
}

// describe returns the attributes of the process, which all spans have. OTEL_RESOURCE_ATTRIBUTES and
// OTEL_SERVICE_NAME take precedence.
func describe(roles string) *resource.Resource {
	ours := []attribute.KeyValue{
		attribute.String("service.name", "signpost"),
		attribute.String("service.version", version.Version),
		attribute.String("signpost.roles", roles),
	}
	if host, err := os.Hostname(); err == nil {
		ours = append(ours, attribute.String("service.instance.id", host))
	}
	base := resource.NewSchemaless(ours...)
	if own, err := resource.New(context.Background(), resource.WithFromEnv()); err == nil {
		if merged, err := resource.Merge(base, own); err == nil {
			return merged
		}
	}
	return base
}

// Close sends the waiting spans, for flushTimeout at most, and stops the background work. Spans that can't be
// sent are dropped.
func (t *Tracer) Close() {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	// The exporter counts and logs what it can't send.
	_ = t.provider.Shutdown(ctx)
	t.out.end()
	<-t.out.down
}

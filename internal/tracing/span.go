package tracing

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/signpostd/signpost/internal/sanitize"
)

// maxText bounds the text of an attribute, because names of clients and errors of servers may have any
// length.
const maxText = 256

// Span is one operation. Start it with [Tracer.Begin], and end it with [Span.End].
type Span struct{ span trace.Span }

// Begin starts a span without a parent. The trace context of callers is ignored, because it is untrusted. A
// nil Tracer returns a nil span.
func (t *Tracer) Begin(name string) *Span {
	if t == nil {
		return nil
	}
	_, span := t.tracer.Start(context.Background(), name)
	return &Span{span}
}

// Text sets an attribute to a text, truncated to 256 bytes.
func (s *Span) Text(key, value string) {
	if s != nil {
		s.span.SetAttributes(attribute.String(key, bounded(value)))
	}
}

// Number sets an attribute to a number.
func (s *Span) Number(key string, value int) {
	if s != nil {
		s.span.SetAttributes(attribute.Int(key, value))
	}
}

// End ends the span, as failed if err isn't nil.
func (s *Span) End(err error) {
	if s == nil {
		return
	}
	if err != nil {
		s.span.SetStatus(codes.Error, bounded(err.Error()))
	}
	s.span.End()
}

// bounded returns a short text that can be encoded, because text that isn't UTF-8 would lose all spans of its
// batch.
func bounded(text string) string { return sanitize.Shorten(text, maxText) }

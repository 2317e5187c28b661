package tracing

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/signpostd/signpost/internal/sanitize"
)

// maxText is how many bytes of a text a span has: names of clients and errors of servers may be of
// any length.
const maxText = 256

// Span is one operation. Make it with [Tracer.Begin], and end it with [Span.End].
type Span struct{ span trace.Span }

// Begin begins a span without a parent: what a caller says about its own trace isn't used, since it
// could be anybody's. Of a nil Tracer, the span is nil.
func (t *Tracer) Begin(name string) *Span {
	if t == nil {
		return nil
	}
	_, span := t.tracer.Start(context.Background(), name)
	return &Span{span}
}

// Text sets an attribute to a text, of which at most 256 bytes are kept.
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

// End ends the span, which has failed if the error isn't nil.
func (s *Span) End(err error) {
	if s == nil {
		return
	}
	if err != nil {
		s.span.SetStatus(codes.Error, bounded(err.Error()))
	}
	s.span.End()
}

// bounded returns a short text that can be encoded: text that isn't UTF-8 would cost all spans of its batch.
func bounded(text string) string { return sanitize.Shorten(text, maxText) }

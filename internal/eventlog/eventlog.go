// Package eventlog logs each Event that is sent to the API server, at debug level. Users see Events beside
// the object; the log line is for operators, and is kept longer than an Event. All senders of Events call
// [Sent]: package eventsink, the dns role for records, and a process for its own pod.
//
// # Concurrency
//
// The functions may be called from any goroutine.
package eventlog

import (
	"context"
	"log/slog"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/reference"

	"github.com/signpostd/signpost/internal/sanitize"
)

// messageSize is how many bytes of a message are logged.
const messageSize = 256

// Event is an Event that is sent.
type Event struct {
	// Object is the object of the Event, of a built-in kind, or a reference to any object.
	Object runtime.Object
	// Type is Normal or Warning.
	Type, Reason string
	// Message is truncated if it is long, because it may contain text from users or the API server.
	Message string
	// DryRun is true for an Event that the API server validates and doesn't store.
	DryRun bool
}

// Sent logs an Event.
func Sent(log *slog.Logger, e Event) {
	ctx := context.Background()
	if !log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	attrs := make([]slog.Attr, 0, 7)
	if of, err := reference.GetReference(scheme.Scheme, e.Object); err == nil {
		attrs = append(attrs, slog.String("kind", of.Kind), slog.String("namespace", of.Namespace), slog.String("name", of.Name))
	}
	attrs = append(attrs, slog.String("type", e.Type), slog.String("reason", e.Reason), slog.String("message", sanitize.Shorten(e.Message, messageSize)))
	if e.DryRun {
		attrs = append(attrs, slog.Bool("dryRun", true))
	}
	log.LogAttrs(ctx, slog.LevelDebug, "Event is sent", attrs...)
}

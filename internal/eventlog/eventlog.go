// Package eventlog writes a line to the log for each Event that is sent to the API server.
//
// Whoever sends Events calls [Sent] with them: the controllers, the destination role about
// linked clusters, and the dns role about records. Events are for users, who look at them beside
// the object; the line is for operators, who read the log of the process and have no Events of an
// hour ago. It is written at the level debug. At a higher level nothing is computed. The
// functions may be called from any goroutine.
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

// Event is one that is sent.
type Event struct {
	// Object is what it is about: an object of a built-in kind, or a reference to any.
	Object runtime.Object
	// Type is Normal or Warning.
	Type, Reason string
	// Message is cut when it is long: it may have what users or the API server wrote.
	Message string
	// DryRun is true for an Event that the API server checks and doesn't store.
	DryRun bool
}

// Sent writes a line about an Event.
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

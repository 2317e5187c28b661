package eventsink

import (
	"fmt"
	"log/slog"
	"sync/atomic"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/tools/reference"

	"github.com/signpostd/signpost/internal/eventlog"
)

// Recorders sends the Events of components to the API server between Start and its stop function, and logs
// them. All other Events are dropped, and so are those of a namespace beyond its rate limit.
type Recorders struct {
	client    corev1client.EventsGetter
	log       *slog.Logger
	recorders []*recorder
	limits    *namespaceLimits
}

// NewRecorders returns recorders that send nothing yet.
func NewRecorders(client corev1client.EventsGetter, log *slog.Logger) *Recorders {
	return &Recorders{client: client, log: log, limits: &namespaceLimits{of: map[string]*rate.Limiter{}}}
}

// recorder sends the Events of a component.
type recorder struct {
	component string
	log       *slog.Logger
	limits    *namespaceLimits
	term      atomic.Pointer[record.EventRecorder]
}

var _ record.EventRecorder = (*recorder)(nil)

// For returns a new recorder for a component. It must not be called after Start.
func (r *Recorders) For(component string) record.EventRecorder {
	one := &recorder{component: component, log: r.log, limits: r.limits}
	r.recorders = append(r.recorders, one)
	return one
}

// Start begins to send. Stop ends it, after which Start may be called again.
func (r *Recorders) Start() (stop func()) {
	broadcaster := record.NewBroadcaster()
	broadcaster.StartRecordingToSink(New(r.client))
	for _, one := range r.recorders {
		var term record.EventRecorder = broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: one.component})
		one.term.Store(&term)
	}
	return func() {
		for _, one := range r.recorders {
			one.term.Store(nil)
		}
		broadcaster.Shutdown()
	}
}

// Event implements record.EventRecorder.
func (r *recorder) Event(object runtime.Object, eventType, reason, message string) {
	r.AnnotatedEventf(object, nil, eventType, reason, "%s", message)
}

// Eventf implements record.EventRecorder.
func (r *recorder) Eventf(object runtime.Object, eventType, reason, format string, args ...any) {
	r.AnnotatedEventf(object, nil, eventType, reason, format, args...)
}

// AnnotatedEventf implements record.EventRecorder.
func (r *recorder) AnnotatedEventf(object runtime.Object, annotations map[string]string, eventType, reason, format string, args ...any) {
	if term := r.term.Load(); term != nil && r.allows(object) {
		message := fmt.Sprintf(format, args...)
		(*term).AnnotatedEventf(object, annotations, eventType, reason, "%s", message)
		eventlog.Sent(r.log, eventlog.Event{Object: object, Type: eventType, Reason: reason, Message: message})
	}
}

// allows reports whether the namespace of an object may send another Event.
func (r *recorder) allows(object runtime.Object) bool {
	of, err := reference.GetReference(scheme.Scheme, object)
	return err != nil || r.limits.allow(of.Namespace)
}

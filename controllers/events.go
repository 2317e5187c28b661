package controllers

import (
	"fmt"
	"log/slog"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"

	"github.com/signpostd/signpost/internal/eventlog"
	"github.com/signpostd/signpost/internal/eventsink"
)

// events sends Events to the API server during terms of leadership.
type events struct {
	client    kubernetes.Interface
	log       *slog.Logger
	recorders []*recorder
}

// recorder sends the Events of a component. Between terms it drops them.
type recorder struct {
	component string
	log       *slog.Logger
	term      atomic.Pointer[record.EventRecorder]
}

var _ record.EventRecorder = (*recorder)(nil)

// recorder returns a recorder for a component.
func (e *events) recorder(component string) record.EventRecorder {
	r := &recorder{component: component, log: e.log}
	e.recorders = append(e.recorders, r)
	return r
}

// start begins a term; stop ends it.
func (e *events) start() (stop func()) {
	broadcaster := record.NewBroadcaster()
	broadcaster.StartRecordingToSink(eventsink.New(e.client.CoreV1()))
	for _, r := range e.recorders {
		var term record.EventRecorder = broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: r.component})
		r.term.Store(&term)
	}
	return func() {
		for _, r := range e.recorders {
			r.term.Store(nil)
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
	if term := r.term.Load(); term != nil {
		message := fmt.Sprintf(format, args...)
		(*term).AnnotatedEventf(object, annotations, eventType, reason, "%s", message)
		eventlog.Sent(r.log, eventlog.Event{Object: object, Type: eventType, Reason: reason, Message: message})
	}
}

package process

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"

	"github.com/signpostd/signpost/internal/eventlog"
	"github.com/signpostd/signpost/internal/eventsink"
	"github.com/signpostd/signpost/internal/objectmeta"
	"github.com/signpostd/signpost/kube/linked"
)

// links are the linked clusters of the destination role.
type links struct {
	set    *linked.Set
	client *kubernetes.Clientset
	made   *connections
	log    *slog.Logger
	// recorder sends Events; nil until run is called.
	recorder atomic.Pointer[record.EventRecorder]
}

var _ linked.Events = (*links)(nil)

// newLinks creates the links for options, and adds the common parts of all roles.
func newLinks(in roleInput, o linked.Options) (*links, error) {
	l := &links{made: &connections{}, log: in.Log}
	var err error
	if l.client, err = l.made.client(in.REST, clientConfig{timeout: requestTimeout, qps: eventRate, burst: eventBurst}); err != nil {
		return nil, err
	}
	o.Config, o.Registerer, o.Report, o.Logger, o.Events = in.REST, in.Registerer, in.Report, in.Log, l
	l.set, err = linked.New(o)
	return l, err
}

// run follows the clusters and sends Events about them, until ctx ends.
func (l *links) run(ctx context.Context) error {
	defer l.made.closeIdle()
	broadcaster := record.NewBroadcaster()
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(eventsink.New(l.client.CoreV1()))
	var recorder record.EventRecorder = broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "signpost-destination"})
	l.recorder.Store(&recorder)
	return l.set.Run(ctx)
}

// Event implements [linked.Events].
func (l *links) Event(object runtime.Object, eventType, reason, message string) {
	if r := l.recorder.Load(); r != nil {
		(*r).Event(object, eventType, reason, message)
		eventlog.Sent(l.log, eventlog.Event{Object: object, Type: eventType, Reason: reason, Message: message})
	}
}

// memberField is the prefix of fields that name a member of a federated Service.
const memberField = "metadata.annotations[multicluster.linkerd.io/remote-discovery]["

// report sends an Event about a problem with the members of a federated Service.
func (l *links) report(p objectmeta.Problem) {
	if p.Kind != "Service" || !strings.HasPrefix(p.Field, memberField) {
		return
	}
	service := &corev1.ObjectReference{APIVersion: "v1", Kind: p.Kind, Namespace: p.Namespace, Name: p.Name, UID: types.UID(p.UID)}
	l.Event(service, corev1.EventTypeWarning, "MemberUnusable", p.Field+": "+p.Reason)
}

// handler returns the status of the clusters as JSON.
func (l *links) handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		// Encode only fails if the client is gone.
		_ = json.NewEncoder(w).Encode(l.set.Status())
	})
}

package process

import (
	"context"
	"log/slog"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"

	"github.com/signpostd/signpost/internal/eventsink"
	"github.com/signpostd/signpost/internal/objectmeta"
	"github.com/signpostd/signpost/kube/linked"
)

// links are the linked clusters of the destination role.
type links struct {
	set         *linked.Set
	client      *kubernetes.Clientset
	connections *connections
	log         *slog.Logger
	// events sends the Events of recorder while run is running.
	events   *eventsink.Recorders
	recorder record.EventRecorder
}

// newLinks creates the links. It completes the options with the common input of roles.
func newLinks(in roleInput, o linked.Options) (*links, error) {
	l := &links{connections: &connections{}, log: in.Log}
	var err error
	if l.client, err = l.connections.client(in.REST, clientConfig{timeout: requestTimeout, qps: eventRate, burst: eventBurst}); err != nil {
		return nil, err
	}
	l.events = eventsink.NewRecorders(l.client.CoreV1(), l.log)
	l.recorder = l.events.For("signpost-destination")
	o.Config, o.Registerer, o.Report, o.Fixed, o.Logger, o.Events = in.REST, in.Registerer, in.Report, in.Fixed, in.Log, l.recorder
	l.set, err = linked.New(o)
	return l, err
}

// run follows the clusters and sends Events about them, until ctx ends.
func (l *links) run(ctx context.Context) error {
	defer l.connections.closeIdle()
	defer l.events.Start()()
	return l.set.Run(ctx)
}

// memberField is the prefix of the fields that name members of a federated Service.
const memberField = "metadata.annotations[multicluster.linkerd.io/remote-discovery]["

// report sends an Event about a problem with the members of a federated Service.
func (l *links) report(p objectmeta.Problem) {
	if p.Kind != "Service" || !strings.HasPrefix(p.Field, memberField) {
		return
	}
	service := &corev1.ObjectReference{APIVersion: "v1", Kind: p.Kind, Namespace: p.Namespace, Name: p.Name, UID: types.UID(p.UID)}
	l.recorder.Event(service, corev1.EventTypeWarning, "MemberUnusable", p.Field+": "+p.Reason)
}

package events

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/publisher"
	"github.com/signpostd/signpost/internal/eventsink"
)

// controller is the name of the reporting controller. Users of ExternalDNS look for it.
const controller = "external-dns"

// newEvent returns the Event about an object. Its name is a hash of its content, so that equal
// Events are one object.
func newEvent(o dns.Object, n publisher.Notice, now time.Time) *eventsv1.Event {
	kind := corev1.EventTypeNormal
	if n.Message != "" && n.Reason != publisher.ReasonApproved {
		kind = corev1.EventTypeWarning
	}
	regarding := corev1.ObjectReference{
		APIVersion: o.APIVersion, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, UID: types.UID(o.UID),
	}
	instance := controller
	if o.Source != "" {
		instance += "/source/" + o.Source
	}
	text := note(n)
	e := &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: cmp.Or(o.Namespace, metav1.NamespaceDefault),
			Name:      eventsink.Name(o.Name, o.APIVersion, o.Kind, o.Namespace, o.UID, instance, kind, n.Action, n.Reason, text),
		},
		EventTime:           metav1.NewMicroTime(now),
		ReportingController: controller,
		ReportingInstance:   instance,
		Action:              n.Action,
		Reason:              n.Reason,
		Regarding:           regarding,
		Note:                text,
		Type:                kind,
	}
	if o.UID != "" {
		e.Related = &regarding
	}
	return e
}

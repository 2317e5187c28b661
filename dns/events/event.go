package events

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/publisher"
)

// controller is the name of the reporting controller. Users of ExternalDNS look for it.
const controller = "external-dns"

// newEvent returns the Event about an object.
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
	e := &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: cmp.Or(o.Namespace, metav1.NamespaceDefault),
			Name:      eventName(o.Name, now),
		},
		EventTime:           metav1.NewMicroTime(now),
		ReportingController: controller,
		ReportingInstance:   instance,
		Action:              n.Action,
		Reason:              n.Reason,
		Regarding:           regarding,
		Note:                note(n),
		Type:                kind,
	}
	if o.UID != "" {
		e.Related = &regarding
	}
	return e
}

// eventName returns a name that no other Event of the object has.
func eventName(object string, now time.Time) string {
	const most = 253
	suffix := fmt.Sprintf(".%x", now.UnixNano())
	valid := strings.Map(func(r rune) rune {
		if (r >= 'a' && r <= 'z') || (r >= '0' && r <= '9') || r == '-' || r == '.' {
			return r
		}
		return '-'
	}, strings.ToLower(object))
	valid = strings.Trim(valid, "-.")
	if len(valid)+len(suffix) > most {
		valid = strings.TrimRight(valid[:most-len(suffix)], "-.")
	}
	return cmp.Or(valid, "record") + suffix
}

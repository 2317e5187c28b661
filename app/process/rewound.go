package process

import (
	"fmt"
	"log/slog"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/signpostd/signpost/internal/eventlog"
	"github.com/signpostd/signpost/internal/eventsink"
	"github.com/signpostd/signpost/kube"
)

// rewoundReason is the reason of the Event about a rewind.
const rewoundReason = "ResourceVersionWentBack"

// sendWarning sends a warning Event about this process. It doesn't block.
type sendWarning func(reason, message string)

// warnOfRewind returns a function that sends an Event about a rewind, by the first role that can.
func warnOfRewind(roles []role) func(kube.Rewind) {
	return func(r kube.Rewind) {
		for _, of := range roles {
			if of.SendWarning != nil {
				of.SendWarning(rewoundReason, fmt.Sprintf("the resource version of %s went back from %s to %s, as after a restore of etcd from an older copy: all kinds are listed again",
					r.Kind, r.Remembered, r.Present))
				return
			}
		}
	}
}

// podWarnings returns a function that sends core Events about the pod of this process. Without a
// pod, as outside of a cluster, an Event has no object, and the function does nothing.
func podWarnings(client corev1client.EventsGetter, component string, log *slog.Logger) sendWarning {
	pod := thisPod()
	if pod.Name == "" {
		return nil
	}
	about := corev1.ObjectReference{APIVersion: pod.APIVersion, Kind: pod.Kind, Namespace: pod.Namespace, Name: pod.Name}
	sink := eventsink.New(client)
	return func(reason, message string) {
		now := metav1.Now()
		e := &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Namespace: pod.Namespace},
			InvolvedObject: about, Reason: reason, Message: message, Type: corev1.EventTypeWarning, Count: 1,
			FirstTimestamp: now, LastTimestamp: now, Source: corev1.EventSource{Component: component},
		}
		go func() { // ends with the timeout of the client
			if _, err := sink.Create(e); err != nil {
				log.Warn("An Event about this process wasn't sent", "reason", reason, "err", err)
				return
			}
			eventlog.Sent(log, eventlog.Event{Object: &about, Type: e.Type, Reason: reason, Message: message})
		}()
	}
}

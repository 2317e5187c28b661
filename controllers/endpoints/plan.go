package endpoints

//lint:file-ignore SA1019 Endpoints are deprecated, and what this package is about.

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/controllers/subsets"
	"github.com/signpostd/signpost/controllers/watched"
)

// Action is the request that a plan makes.
type Action int

// The actions (spec/endpoints.md §5.11).
const (
	// None leaves the Endpoints, or their absence, unchanged.
	None Action = iota
	// Create creates Endpoints in the namespace of the Service.
	Create
	// Update updates the Endpoints, with their UID and resource version as preconditions.
	Update
)

// String returns the name of the action.
func (a Action) String() string {
	switch a {
	case Create:
		return "create"
	case Update:
		return "update"
	default:
		return "none"
	}
}

// Plan decides about the Endpoints of a Service (spec/endpoints.md §5.1, §5.3–§5.11). The arguments are the
// pods that the Service selects, in any order; the current Endpoints, nil if there are none; and the time of
// the change that led here, zero if it isn't known. The time is written with other changes, and alone causes
// no write.
//
// With [Create] and [Update], the returned Endpoints are the body of the request; with [None] they are nil.
// They point to the nodes' names in the pods, and to the ports of the Service.
//
// Plan avoids writes that the Kubernetes controller makes without need, or that the API server refuses (§11
// K5, K6, K12–K14, §21 C1).
func Plan(service *corev1.Service, pods []*watched.Pod, current *corev1.Endpoints, trigger time.Time) (Action, *corev1.Endpoints) {
	if !selects(service) {
		// The Endpoints that were written before stay (K3).
		return None, nil
	}
	var w wanted
	w.labels = labelsFor(service)
	list, cut := groups(service, pods)
	w.subsets, w.truncated = subsets.Truncate(subsets.Canonical(list), Capacity)
	w.truncated = w.truncated || cut
	switch {
	case current == nil:
		return Create, w.endpoints(&metav1.ObjectMeta{Name: service.Name}, trigger)
	case w.matches(current):
		return None, nil
	default:
		return Update, w.endpoints(&current.ObjectMeta, trigger)
	}
}

// selects reports whether the Service has Endpoints that are derived from pods (§5.1).
func selects(service *corev1.Service) bool {
	return service.Spec.Type != corev1.ServiceTypeExternalName && service.Spec.Selector != nil
}

// labelsFor returns all labels of a Service's Endpoints (§5.10).
func labelsFor(service *corev1.Service) map[string]string {
	labels := make(map[string]string, len(service.Labels)+2)
	maps.Copy(labels, service.Labels)
	if service.Spec.ClusterIP == "" || isHeadless(service) {
		labels[HeadlessLabel] = ""
	} else {
		delete(labels, HeadlessLabel)
	}
	labels[ManagedByLabel] = ManagedBy
	return labels
}

func isHeadless(service *corev1.Service) bool {
	return service.Spec.ClusterIP == corev1.ClusterIPNone
}

// wanted is the desired state of a Service's Endpoints.
type wanted struct {
	labels    map[string]string
	subsets   []corev1.EndpointSubset
	truncated bool // there are more addresses than Capacity, or than the limits of groups
}

// matches reports whether Endpoints need no update (§5.9).
func (w *wanted) matches(current *corev1.Endpoints) bool {
	return w.annotated(current) && maps.Equal(current.Labels, w.labels) &&
		// The first comparison is cheaper. It is also needed because Canonical may never return truncated
		// subsets.
		(subsets.Equal(current.Subsets, w.subsets) || subsets.Packs(current.Subsets, w.subsets))
}

// annotated reports whether the over-capacity annotation of Endpoints is correct.
func (w *wanted) annotated(current *corev1.Endpoints) bool {
	value, ok := current.Annotations[OverCapacityAnnotation]
	if w.truncated {
		return value == Truncated
	}
	return !ok
}

// endpoints returns the Endpoints, with the rest of their metadata from a base (§5.10).
func (w *wanted) endpoints(base *metav1.ObjectMeta, trigger time.Time) *corev1.Endpoints {
	ep := &corev1.Endpoints{ObjectMeta: *base.DeepCopy(), Subsets: w.subsets}
	ep.Labels = w.labels
	if ep.Annotations == nil {
		ep.Annotations = map[string]string{}
	}
	if trigger.IsZero() {
		delete(ep.Annotations, TriggerTimeAnnotation)
	} else {
		ep.Annotations[TriggerTimeAnnotation] = trigger.UTC().Format(time.RFC3339Nano)
	}
	if w.truncated {
		ep.Annotations[OverCapacityAnnotation] = Truncated
	} else {
		delete(ep.Annotations, OverCapacityAnnotation)
	}
	return ep
}

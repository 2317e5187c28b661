package watched

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Triggers finds the times of the changes that lead to syncs of Services (spec/endpoints.md §5.13). It may be
// used for different Services concurrently.
//
// The result is that of k8s.io/endpointslice/util.TriggerTimeTracker, which has an entry in a map for each
// pair of a Service and a pod, and thousands of both would take gigabytes. Triggers keeps pointers to pods.
type Triggers struct {
	mu    sync.Mutex
	known map[types.NamespacedName]synced
}

// synced is the input of the last sync of a Service.
type synced struct {
	created time.Time
	pods    []*Pod
}

// NewTriggers returns an empty Triggers, for a term.
func NewTriggers() *Triggers { return &Triggers{known: map[types.NamespacedName]synced{}} }

// Next returns the time of the change that leads to a sync of a Service with these pods; zero if unknown. It
// keeps the list of pods, which must not be changed afterwards.
func (t *Triggers) Next(service *corev1.Service, pods []*Pod) time.Time {
	now := synced{created: service.CreationTimestamp.Time, pods: pods}
	key := types.NamespacedName{Namespace: service.Namespace, Name: service.Name}
	t.mu.Lock()
	last, known := t.known[key]
	t.known[key] = now
	t.mu.Unlock()
	if !known {
		return now.created
	}
	var first time.Time
	if now.created.After(last.created) {
		first = now.created
	}
	before := last.transitions()
	for _, pod := range pods {
		if pod.Ready != "" && pod.ReadySince.After(before[pod.Name]) && (first.IsZero() || pod.ReadySince.Before(first)) {
			first = pod.ReadySince
		}
	}
	return first
}

// Forget drops the state of a deleted Service.
func (t *Triggers) Forget(key types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.known, key)
}

// transitions returns when the pods, by name, became ready or unready.
func (s synced) transitions() map[string]time.Time {
	times := make(map[string]time.Time, len(s.pods))
	for _, pod := range s.pods {
		if pod.Ready != "" {
			times[pod.Name] = pod.ReadySince
		}
	}
	return times
}

package endpoints

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/signpostd/signpost/controllers/reconcile"
	"github.com/signpostd/signpost/controllers/watched"
)

// triggers finds the times of the changes that lead to syncs (spec/endpoints.md §5.13). It may
// be used for different Services at a time.
type triggers struct {
	mu    sync.Mutex
	known map[reconcile.Key]synced
}

// synced is what the last sync of a Service was based on.
type synced struct {
	created time.Time
	pods    []*watched.Pod
}

func newTriggers() *triggers { return &triggers{known: map[reconcile.Key]synced{}} }

// next returns the time of the change that leads to a sync of a Service with these pods,
// which it keeps; zero when it isn't known.
func (t *triggers) next(service *corev1.Service, pods []*watched.Pod) time.Time {
	now := synced{service.CreationTimestamp.Time, pods}
	key := reconcile.Key{Namespace: service.Namespace, Name: service.Name}
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

// transitions returns when the pods, by name, became ready or stopped being so.
func (s synced) transitions() map[string]time.Time {
	times := make(map[string]time.Time, len(s.pods))
	for _, pod := range s.pods {
		if pod.Ready != "" {
			times[pod.Name] = pod.ReadySince
		}
	}
	return times
}

// forget drops what is known of a Service that is gone.
func (t *triggers) forget(key reconcile.Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.known, key)
}

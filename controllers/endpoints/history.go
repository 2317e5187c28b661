package endpoints

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/signpostd/signpost/controllers/reconcile"
	"github.com/signpostd/signpost/controllers/watched"
)

// history has the inputs and writes of the last sync of each Service in a term. It finds the time of the
// change that leads to a sync (spec/endpoints.md §5.13). It may be used for different Services concurrently.
type history struct {
	mu    sync.Mutex
	known map[reconcile.Key]synced
}

// synced is the input of the last sync of a Service.
type synced struct {
	created time.Time
	pods    []*watched.Pod
	// version is the version of the Endpoints that this process wrote last; empty if it wrote none.
	version string
}

func newHistory() *history { return &history{known: map[reconcile.Key]synced{}} }

// trigger returns the time of the change that leads to a sync of a Service with these pods; zero if unknown.
// It stores the pods.
func (h *history) trigger(service *corev1.Service, pods []*watched.Pod) time.Time {
	now := synced{created: service.CreationTimestamp.Time, pods: pods}
	key := reconcile.Key{Namespace: service.Namespace, Name: service.Name}
	h.mu.Lock()
	last, known := h.known[key]
	now.version = last.version
	h.known[key] = now
	h.mu.Unlock()
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

// wrote records the version of the Endpoints that this process has just written.
func (h *history) wrote(key reconcile.Key, version string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.known[key]
	now.version = version
	h.known[key] = now
}

// isOwn reports whether this process wrote this version of the Endpoints.
func (h *history) isOwn(key reconcile.Key, version string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return version != "" && h.known[key].version == version
}

// forget drops the state of a deleted Service.
func (h *history) forget(key reconcile.Key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.known, key)
}

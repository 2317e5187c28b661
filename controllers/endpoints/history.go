package endpoints

import (
	"sync"

	"github.com/signpostd/signpost/controllers/reconcile"
	"github.com/signpostd/signpost/controllers/watched"
)

// history has the inputs and writes of the last sync of each Service in a term. It may be used for different
// Services concurrently.
type history struct {
	triggers *watched.Triggers

	mu sync.Mutex
	// versions are the versions of the Endpoints that this process wrote last.
	versions map[reconcile.Key]string
}

func newHistory() *history {
	return &history{triggers: watched.NewTriggers(), versions: map[reconcile.Key]string{}}
}

// wrote records the version of the Endpoints that this process has just written.
func (h *history) wrote(key reconcile.Key, version string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.versions[key] = version
}

// isOwn reports whether this process wrote this version of the Endpoints.
func (h *history) isOwn(key reconcile.Key, version string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.versions[key] == version
}

// forget drops the state of a deleted Service.
func (h *history) forget(key reconcile.Key) {
	h.triggers.Forget(key)
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.versions, key)
}

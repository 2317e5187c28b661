package process

import (
	"fmt"
	"strings"

	"github.com/signpostd/signpost/internal/channel"
	"github.com/signpostd/signpost/kube"
)

// readiness answers /ready: whether all tables are filled and all roles do their work, and
// which kinds of object are missing. A process that was ready stays ready while the API
// server is away, as Linkerd's controller does: it goes on serving what it knows.
func readiness(cluster *kube.Cluster, roles []role) (ready bool, details []string) {
	for _, t := range cluster.Status() {
		if t.State != kube.Synced {
			details = append(details, strings.TrimSpace(fmt.Sprint(t.Kind, ": ", t.State, " ", t.Reason)))
		}
	}
	ready, more := readinessOfRoles(roles)
	return ready && channel.IsClosed(cluster.Settled()), append(details, more...)
}

// readinessOfRoles is what the roles themselves say.
func readinessOfRoles(roles []role) (ready bool, details []string) {
	ready = true
	for _, r := range roles {
		ready = ready && (r.Ready == nil || r.Ready())
		if r.Details != nil {
			details = append(details, r.Details()...)
		}
	}
	return ready, details
}

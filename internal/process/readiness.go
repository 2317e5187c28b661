package process

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/signpostd/signpost/internal/channel"
	"github.com/signpostd/signpost/kube"
)

// readiness answers /ready: whether all tables are filled and all roles do their work, and
// which kinds of object are missing. A process that was ready stays ready while the API
// server is away, as Linkerd's controller does: it goes on serving what it knows.
//
// The cluster is nil for roles that read no objects.
func readiness(cluster *kube.Cluster, roles []role) (ready bool, details []string) {
	ready, more := readinessOfRoles(roles)
	if cluster == nil {
		return ready, more
	}
	for _, t := range cluster.Status() {
		details = append(details, missing(t)...)
	}
	return ready && channel.IsClosed(cluster.Settled()), append(details, more...)
}

// missing returns what is not in sync, in lines for /ready. Namespaces that are missing for the
// same reason share a line.
func missing(t kube.TableStatus) []string {
	if t.State == kube.Synced {
		return nil
	}
	if len(t.Namespaces) == 0 {
		return []string{strings.TrimSpace(fmt.Sprint(t.Kind, ": ", t.State, " ", t.Reason))}
	}
	namespaces := map[string][]string{}
	for _, of := range t.Namespaces {
		if of.State != kube.Synced {
			why := strings.TrimSpace(fmt.Sprint(of.State, " ", of.Reason))
			namespaces[why] = append(namespaces[why], of.Namespace)
		}
	}
	var lines []string
	for _, why := range slices.Sorted(maps.Keys(namespaces)) {
		lines = append(lines, t.Kind+" in "+strings.Join(namespaces[why], ", ")+": "+why)
	}
	return lines
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

package process

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/signpostd/signpost/internal/channel"
	"github.com/signpostd/signpost/internal/sanitize"
	"github.com/signpostd/signpost/kube"
)

// readiness answers /ready: whether all tables are filled and all roles do their work, and
// which kinds of object are missing. A process that was ready stays ready while the API
// server is away, as Linkerd's controller does: it goes on serving what it knows. It isn't when the API server
// has refused its credentials for a minute, which concerns this process only.
//
// The cluster is nil for roles that read no objects.
func readiness(cluster *kube.Cluster, roles []role) (ready bool, details []string) {
	ready, more := readinessOfRoles(roles)
	if cluster == nil {
		return ready, more
	}
	for _, t := range cluster.Status() {
		details = append(details, missing(t)...)
		ready = ready && !refused(t)
	}
	return ready && channel.IsClosed(cluster.Settled()), append(details, more...)
}

// refusedCredentialsLimit is how long the API server may refuse the credentials before the process isn't ready. Other replicas have credentials
// of their own, so clients are better off there.
const refusedCredentialsLimit = time.Minute

// refused reports whether the API server has refused the credentials for too long.
func refused(t kube.TableStatus) bool {
	return t.Required && t.State == kube.Waiting && t.Reason == kube.Unauthorized && t.Stale >= refusedCredentialsLimit
}

// missing returns what is not in sync, in lines for /ready. Kinds are called what roles call them.
// Namespaces that are missing for the same reason share a line.
func missing(t kube.TableStatus) []string {
	if t.State == kube.Synced {
		return nil
	}
	resource := t.Resource.String()
	if len(t.Namespaces) == 0 {
		return []string{resource + ": " + why(resource, t.State, t.Reason, t.Detail)}
	}
	namespaces := map[string][]string{}
	for _, of := range t.Namespaces {
		if of.State != kube.Synced {
			// The text of the API server differs from namespace to namespace.
			w := why(resource, of.State, of.Reason, "")
			namespaces[w] = append(namespaces[w], of.Namespace)
		}
	}
	var lines []string
	for _, why := range slices.Sorted(maps.Keys(namespaces)) {
		lines = append(lines, resource+" in "+strings.Join(namespaces[why], ", ")+": "+why)
	}
	return lines
}

// why says in which state a kind is, and what to do.
func why(resource string, state kube.State, reason kube.Reason, detail string) string {
	words := []string{strings.TrimSpace(string(state) + " " + string(reason))}
	if reason == kube.Forbidden {
		words = append(words, "grant list and watch on "+resource+" to this process")
	}
	if reason == kube.Unauthorized {
		words = append(words, "give this process valid credentials, and restart it if they are in its kubeconfig (a token file is read again every minute)")
	}
	if detail != "" {
		words = append(words, sanitize.CutTo(detail, mostDetail))
	}
	return strings.Join(words, ": ")
}

// mostDetail is how many bytes of what the API server says are shown in a line of /ready.
const mostDetail = 400

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

// reasonsOf returns what anybody may know of what the process waits for: the kinds of objects and the
// roles. The names of namespaces, Leases, processes and linked clusters, and the words of the API
// server, are details for those who may read the inspection API.
func reasonsOf(cluster *kube.Cluster, roles []role) (reasons []string) {
	if cluster != nil {
		for _, t := range cluster.Status() {
			if t.State == kube.Synced {
				continue
			}
			resource := t.Resource.String()
			reasons = append(reasons, resource+": "+why(resource, t.State, t.Reason, ""))
		}
	}
	for _, r := range roles {
		if r.Ready != nil && !r.Ready() {
			reasons = append(reasons, "the role "+r.Name+" isn't ready: see `signpost status`, or ask /ready from localhost")
		}
	}
	return reasons
}

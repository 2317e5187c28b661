package process

import (
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/signpostd/signpost/internal/channel"
	"github.com/signpostd/signpost/internal/sanitize"
	"github.com/signpostd/signpost/kube"
)

// readiness is the result of /ready: whether all tables are filled and all roles do their work, and
// which kinds are missing. A process that was ready stays ready while the API server is
// unreachable, as Linkerd's controller does, because it still serves its last known state. If the
// API server has refused its credentials for a minute, it isn't ready, because that concerns this
// process only.
//
// The cluster is nil for roles that read no objects.
func readiness(cluster *kube.Cluster, roles []role) (ready bool, details []string) {
	ready, more := readinessOfRoles(roles)
	if cluster == nil {
		return ready, more
	}
	tables := neededOf(cluster.Status(), sourcesOf(roles))
	ready = ready && !slices.ContainsFunc(tables, refused)
	details = detailsOf(tables)
	return ready && channel.IsClosed(cluster.Settled()), append(details, more...)
}

// neededOf leaves out the kinds that the cluster lacks and that nobody needs: they are optional, no source of DNS
// records reads them, and no object of them is known.
func neededOf(tables []kube.TableStatus, sources map[schema.GroupResource]bool) []kube.TableStatus {
	return slices.DeleteFunc(tables, func(t kube.TableStatus) bool {
		return !t.Required && t.Reason == kube.NotFound && t.Objects == 0 && !sources[t.Resource]
	})
}

// refusedCredentialsLimit is how long the API server may refuse the credentials before the process
// isn't ready. Other replicas have their own credentials, so clients should move there.
const refusedCredentialsLimit = time.Minute

// refused reports whether the API server has refused the credentials for too long.
func refused(t kube.TableStatus) bool {
	return t.Required && t.State == kube.Waiting && t.Reason == kube.Unauthorized && t.Stale >= refusedCredentialsLimit
}

// detailsOf returns the kinds that are not in sync, as lines for /ready. Kinds for which the API server
// can't be reached for one reason share a line.
func detailsOf(tables []kube.TableStatus) (lines []string) {
	sharing := map[string][]string{}
	for _, t := range tables {
		if t.State == kube.Synced || t.Reason != kube.Unreachable || len(t.Namespaces) > 0 {
			lines = append(lines, missing(t)...)
			continue
		}
		reason := why("", t.State, t.Reason, t.Detail)
		sharing[reason] = append(sharing[reason], t.Resource.String())
	}
	for _, reason := range slices.Sorted(maps.Keys(sharing)) {
		lines = append(lines, strings.Join(sharing[reason], ", ")+": "+reason)
	}
	return lines
}

// missing returns the kinds and namespaces that are not in sync, as lines for /ready. Kinds are
// named as in RBAC rules. Namespaces with the same reason share a line.
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
			// The message of the API server differs between namespaces.
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

// why describes the state of a kind, and what to do.
func why(resource string, state kube.State, reason kube.Reason, detail string) string {
	words := []string{strings.TrimSpace(string(state) + " " + string(reason))}
	if reason == kube.Forbidden {
		words = append(words, "grant list and watch on "+resource+" to this process")
	}
	if reason == kube.Unauthorized {
		words = append(words, "give this process valid credentials, and restart it if they are in its kubeconfig (a token file is read again every minute)")
	}
	if detail != "" {
		words = append(words, sanitize.CutTo(detail, maxDetail))
	}
	return strings.Join(words, ": ")
}

// maxDetail limits the API server's message in a line of /ready, in bytes.
const maxDetail = 400

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

// reasonsOf returns the public reasons why the process isn't ready: kinds of objects, and roles.
// Names of namespaces, Leases, processes and linked clusters, and messages of the API server, are
// only for clients that may read the inspection API.
func reasonsOf(cluster *kube.Cluster, roles []role) (reasons []string) {
	if cluster != nil {
		for _, t := range neededOf(cluster.Status(), sourcesOf(roles)) {
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

package process

import (
	"fmt"
	"slices"
	"time"

	"github.com/signpostd/signpost/kube"
)

// silentFor is how long changes of our own cluster may be missed before streams count as stale.
// Gaps between two watches are shorter.
const silentFor = 5 * time.Second

// freshness knows whether a catalog follows the changes of our own cluster.
type freshness struct {
	// tables are those of the catalog, and secrets is the condition of the Secrets that link clusters.
	tables  []kube.AnyTable
	secrets func() kube.TableStatus
}

// ownTables returns the condition of our own cluster.
func (f *freshness) ownTables() (all []kube.TableStatus) {
	for _, t := range f.tables {
		all = append(all, t.Status())
	}
	return all
}

// isStale reports whether changes of a kind can't be seen now.
func isStale(t kube.TableStatus) bool { return t.State == kube.Waiting || t.Stale > silentFor }

// outdated is the Outdated of [destination.Config].
func (f *freshness) outdated(resources ...string) string {
	for _, t := range append(f.ownTables(), f.secrets()) {
		if !slices.Contains(resources, t.Resource.String()) && !slices.Contains(resources, t.Resource.Resource) || !isStale(t) {
			continue
		}
		if t.State == kube.Waiting {
			return fmt.Sprintf("it can't read %s (%s)", t.Resource, t.Reason)
		}
		return fmt.Sprintf("it has seen no changes of %s for %s", t.Resource, t.Stale.Round(time.Second))
	}
	return ""
}

package destination

import (
	"fmt"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/objectmeta"
)

// The values of the label claimants of destination_address_conflicts_total.
const (
	conflictServices  = "services"
	conflictWorkloads = "workloads"
)

// reportConflicts reports and counts the address conflicts of a response that is sent to clients.
func (c *Config) reportConflicts(conflicts []catalog.AddressConflict) {
	if c.conflict == nil {
		return
	}
	for _, r := range conflicts {
		c.report(conflictProblem(r))
		c.conflict(claimantsOf(r))
	}
}

func claimantsOf(r catalog.AddressConflict) string {
	if r.Winner.Kind == catalog.KindService {
		return conflictServices
	}
	return conflictWorkloads
}

// conflictProblem returns the problem of the object that does not get its address.
func conflictProblem(r catalog.AddressConflict) objectmeta.Problem {
	kept := fmt.Sprintf("the %s %s/%s", kindOf(r.Winner), r.Winner.Namespace, r.Winner.Name)
	p := objectmeta.Problem{
		Kind: kindOf(r.Loser), Namespace: r.Loser.Namespace, Name: r.Loser.Name, Field: "address " + r.IP.String(),
		Reason: kept + " has the address too and is used, because it is ready or younger; delete the one that no longer runs",
	}
	if r.Undecided {
		p.Reason = kept + " has the address too, so lookups of the address fail with Unavailable; delete one of them, or recreate it"
	}
	if r.Loser.Cluster != catalog.LocalCluster {
		p.Cluster = r.Loser.Cluster
	}
	return p
}

// kindOf returns the Kubernetes kind of a Service or workload.
func kindOf(id catalog.ID) string {
	if id.Kind == catalog.KindService {
		return "Service"
	}
	return id.Qualifier
}

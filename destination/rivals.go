package destination

import (
	"fmt"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/objectmeta"
)

// The values of the label claimants of destination_address_conflicts_total.
const (
	rivalServices  = "services"
	rivalWorkloads = "workloads"
)

// tell reports and counts the rivals that an answer has found, if a client gets it.
func (c *Config) tell(rivals []catalog.Rival) {
	if c.conflict == nil {
		return
	}
	for _, r := range rivals {
		c.report(rivalProblem(r))
		c.conflict(claimantsOf(r))
	}
}

func claimantsOf(r catalog.Rival) string {
	if r.Kept.Kind == catalog.KindService {
		return rivalServices
	}
	return rivalWorkloads
}

// rivalProblem says which object doesn't get its address, and why.
func rivalProblem(r catalog.Rival) objectmeta.Problem {
	kept := fmt.Sprintf("the %s %s/%s", kindOf(r.Kept), r.Kept.Namespace, r.Kept.Name)
	p := objectmeta.Problem{
		Kind: kindOf(r.Other), Namespace: r.Other.Namespace, Name: r.Other.Name, Field: "address " + r.IP.String(),
		Reason: kept + " has the address too and is used, because it is ready or younger; delete the one that is gone",
	}
	if r.Undecided {
		p.Reason = kept + " has the address too, so questions about the address are answered with Unavailable; delete one of them, or create it anew"
	}
	if r.Other.Cluster != catalog.LocalCluster {
		p.Cluster = r.Other.Cluster
	}
	return p
}

// kindOf returns the kind of a Service or workload as users type it.
func kindOf(id catalog.ID) string {
	if id.Kind == catalog.KindService {
		return "Service"
	}
	return id.Qualifier
}

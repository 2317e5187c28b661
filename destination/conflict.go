package destination

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/objectmeta"
)

// The values of the label claimants of destination_address_conflicts_total.
const (
	conflictServices  = "services"
	conflictWorkloads = "workloads"
)

const (
	// maxConflicts bounds the conflicts that are remembered. The end of others is not reported.
	maxConflicts = 1000
	// conflictsInterval is the time between two checks whether conflicts have ended.
	conflictsInterval = time.Second
)

// conflicts has the reported address conflicts that have not ended. It looks for their ends in the catalog,
// because streams don't show them: if no rule decides a conflict, streams are refused.
type conflicts struct {
	catalog *catalog.Catalog
	fixed   objectmeta.Fixed
	// count counts a conflict in the metric.
	count func(claimants string)

	mu sync.Mutex
	// winners has the objects that get the addresses.
	winners map[lostAddress]catalog.ID
}

func newConflicts(s *Server) *conflicts {
	c := &conflicts{
		catalog: s.catalog, fixed: s.config.Fixed, winners: map[lostAddress]catalog.ID{},
		count: func(claimants string) { s.metrics.conflicts.WithLabelValues(claimants).Inc() },
	}
	if c.fixed == nil {
		c.fixed = func(objectmeta.Problem, time.Time) {}
	}
	return c
}

// lostAddress is an address that an object claims and does not get.
type lostAddress struct {
	loser catalog.ID
	ip    netip.Addr
}

// reportConflicts reports and counts the address conflicts of a response that is sent to clients.
func (c *Config) reportConflicts(met []catalog.AddressConflict) {
	if c.conflicts == nil {
		return
	}
	for _, r := range met {
		c.conflicts.remember(r)
		c.report(conflictProblem(r))
		c.conflicts.count(claimantsOf(r))
	}
}

func (c *conflicts) remember(r catalog.AddressConflict) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := lostAddress{r.Loser, r.IP}
	if _, known := c.winners[at]; known || len(c.winners) < maxConflicts {
		c.winners[at] = r.Winner
	}
}

// follow reports the ends of conflicts until the context ends.
func (c *conflicts) follow(ctx context.Context) {
	ticker := time.Tick(conflictsInterval)
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker:
			c.reportEnded()
		}
	}
}

// reportEnded reports the conflicts as fixed in which one of the objects no longer claims the address.
func (c *conflicts) reportEnded() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for at, winner := range c.winners {
		if c.claims(at.loser, at.ip) && c.claims(winner, at.ip) {
			continue
		}
		delete(c.winners, at)
		c.fixed(conflictOf(at), time.Now())
	}
}

// claims reports whether a Service or workload exists and claims an address.
func (c *conflicts) claims(id catalog.ID, ip netip.Addr) bool {
	if id.Kind == catalog.KindService {
		service, ok := c.catalog.FindService(catalog.ServiceKey{Cluster: id.Cluster, Namespace: id.Namespace, Name: id.Name})
		return ok && slices.Contains(service.ClusterIPs, ip)
	}
	w, _ := c.catalog.FindWorkload(catalog.WorkloadKey{Kind: catalog.WorkloadKind(id.Qualifier), Cluster: id.Cluster, Namespace: id.Namespace, Name: id.Name})
	return w != nil && !w.Finished && !w.Terminating && (slices.Contains(w.IPs, ip) || slices.Contains(w.HostIPs, ip))
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
	p := conflictOf(lostAddress{r.Loser, r.IP})
	p.Reason = kept + " has the address too and is used, because it is ready or younger; delete the one that no longer runs"
	switch {
	case r.Undecided && r.Winner.Kind != catalog.KindService:
		p.Reason = kept + " has the address too, and no rule decides which of them has it: Services with the address use that one, and lookups of the address can fail with Unavailable; delete one of them, or recreate it"
	case r.Undecided:
		p.Reason = kept + " has the address too, so lookups of the address fail with Unavailable; delete one of them, or recreate it"
	}
	return p
}

// conflictOf returns the problem of an object with an address, without a reason.
func conflictOf(at lostAddress) objectmeta.Problem {
	p := objectmeta.Problem{
		Kind: kindOf(at.loser), Namespace: at.loser.Namespace, Name: at.loser.Name, Field: "address " + at.ip.String(), Conflict: true,
	}
	if at.loser.Cluster != catalog.LocalCluster {
		p.Cluster = at.loser.Cluster
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

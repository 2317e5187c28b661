package process

import (
	"context"
	"fmt"

	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"github.com/signpostd/signpost/internal/inspect"
	"github.com/signpostd/signpost/internal/leader"
	"github.com/signpostd/signpost/internal/settings"
)

// leadership is the part that this process takes in a leader election.
type leadership struct {
	// elector is nil without an election: then this process leads.
	elector *leader.Elector
	// fence lets requests through only while this process leads.
	fence *leader.Fence
	// lease is the namespace and the name of the Lease.
	lease string
	// leases is the client of the election; nil without one.
	leases coordinationv1client.LeasesGetter
}

// newLeadership returns a leadership that doesn't campaign yet. The identity is what the
// process is called in the Lease; if it is empty, the process gets a unique one.
// It says in the Lease what the process leads for, unless that is empty.
func newLeadership(in roleInput, made *connections, o settings.Leader, identity, leadsFor string) (*leadership, error) {
	l := &leadership{fence: leader.Unfenced(), lease: o.ResourceNamespace + "/" + o.ResourceName}
	if !o.Elect {
		return l, nil
	}
	client, err := made.client(in.REST, clientConfig{timeout: o.RenewDeadline})
	if err != nil {
		return nil, err
	}
	l.elector, err = leader.New(leader.Config{
		Client:        client.CoordinationV1(),
		Namespace:     o.ResourceNamespace,
		Name:          o.ResourceName,
		Identity:      identity,
		LeadsFor:      leadsFor,
		LeaseDuration: o.LeaseDuration,
		RenewDeadline: o.RenewDeadline,
		RetryPeriod:   o.RetryPeriod,
		Log:           in.Log,
		Registerer:    in.Registerer,
	})
	if err != nil {
		return nil, err
	}
	l.fence = l.elector.Fence()
	l.leases = client.CoordinationV1()
	return l, nil
}

// run calls lead whenever this process becomes the leader, until ctx ends.
func (l *leadership) run(ctx context.Context, lead func(context.Context) error) error {
	if l.elector == nil {
		return lead(ctx)
	}
	return l.elector.Run(ctx, lead)
}

// leads reports whether this process leads and, if not, who does, as far as that is known.
func (l *leadership) leads() (leads bool, leader string) {
	if l.elector == nil || l.fence.Check() == nil {
		return true, ""
	}
	if leader = l.elector.Leader(); leader == l.elector.Identity() {
		leader = ""
	}
	return false, leader
}

// leading says who leads, for the status.
func (l *leadership) leading(roleName string) inspect.Leading {
	leads, leader := l.leads()
	answer := inspect.Leading{Role: roleName, Lease: l.lease, Leads: leads, Leader: leader}
	if l.elector == nil {
		answer.Lease = ""
		return answer
	}
	if leads {
		answer.Leader = l.elector.Identity()
	}
	if since := l.elector.Since(); answer.Leader != "" && !since.IsZero() {
		answer.Since = &since
	}
	return answer
}

// details says, for /ready, who leads.
func (l *leadership) details() []string {
	if l.elector == nil {
		return []string{"leader: this process, without election"}
	}
	switch holder := l.elector.Leader(); {
	case l.fence.Check() == nil:
		return []string{fmt.Sprintf("leader: this process, %s, by lease %s", l.elector.Identity(), l.lease)}
	case holder == "" || holder == l.elector.Identity():
		return []string{fmt.Sprintf("leader: none that is known, by lease %s", l.lease)}
	default:
		return []string{fmt.Sprintf("leader: %s, by lease %s", holder, l.lease)}
	}
}

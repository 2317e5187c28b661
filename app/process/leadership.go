package process

import (
	"context"
	"fmt"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/internal/leader"
)

// leadership is this process' part in a leader election.
type leadership struct {
	// elector is nil without an election: this process then leads.
	elector *leader.Elector
	// fence lets requests through only while this process leads.
	fence *leader.Fence
	// lease is the namespace and name of the Lease.
	lease string
}

// newLeadership returns a leadership that doesn't campaign yet. identity is the process' identity
// in the Lease; if it is empty, a unique one is created. leadsFor, unless empty, is written into
// the Lease.
func newLeadership(in roleInput, clients *connections, o settings.Leader, identity, leadsFor string) (*leadership, error) {
	l := &leadership{fence: leader.Unfenced(), lease: o.ResourceNamespace + "/" + o.ResourceName}
	if !o.Elect {
		return l, nil
	}
	client, err := clients.client(in.REST, clientConfig{timeout: o.RenewDeadline})
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
	return l, nil
}

// run calls lead whenever this process becomes the leader, until ctx ends.
func (l *leadership) run(ctx context.Context, lead func(context.Context) error) error {
	if l.elector == nil {
		return lead(ctx)
	}
	return l.elector.Run(ctx, lead)
}

// leads reports whether this process leads and, if not, the leader if known.
func (l *leadership) leads() (leads bool, leader string) {
	if l.elector == nil || l.fence.Check() == nil {
		return true, ""
	}
	if leader = l.elector.Leader(); leader == l.elector.Identity() {
		leader = ""
	}
	return false, leader
}

// leading returns the state of the election for the status.
func (l *leadership) leading(roleName string) inspect.Leading {
	leads, leader := l.leads()
	answer := inspect.Leading{Role: roleName, Lease: l.lease, Leads: leads, Leader: leader}
	answer.Trouble, _ = l.trouble()
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

// trouble says why requests for the Lease fail, and since when; empty if they don't.
func (l *leadership) trouble() (sentence string, since time.Time) {
	if l.elector == nil {
		return "", time.Time{}
	}
	since, err := l.elector.Trouble()
	if err == nil {
		return "", time.Time{}
	}
	return fmt.Sprintf("requests for the Lease %s have failed for %v: %v", l.lease, time.Since(since).Round(time.Second), err), since
}

func (l *leadership) problems() []inspect.Problem {
	sentence, since := l.trouble()
	if sentence == "" {
		return nil
	}
	namespace, name, _ := strings.Cut(l.lease, "/")
	return []inspect.Problem{{
		Object: inspect.ObjectRef{Kind: "Lease", Group: coordinationv1.GroupName, Namespace: namespace, Name: name}, Reason: sentence, Since: since,
	}}
}

// details returns the leader, and why requests for the Lease fail, for /ready.
func (l *leadership) details() []string {
	lines := []string{l.leaderLine()}
	if sentence, _ := l.trouble(); sentence != "" {
		lines = append(lines, "leader election: "+sentence)
	}
	return lines
}

func (l *leadership) leaderLine() string {
	if l.elector == nil {
		return "leader: this process, without election"
	}
	switch holder := l.elector.Leader(); {
	case l.fence.Check() == nil:
		return fmt.Sprintf("leader: this process, %s, by lease %s", l.elector.Identity(), l.lease)
	case holder == "" || holder == l.elector.Identity():
		return fmt.Sprintf("leader: none that is known, by lease %s", l.lease)
	default:
		return fmt.Sprintf("leader: %s, by lease %s", holder, l.lease)
	}
}

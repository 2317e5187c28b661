package leader

import (
	"context"
	"strings"
	"sync/atomic"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

// LeadsForAnnotation is the annotation of a Lease in which the holder describes what it leads for. Its value
// starts with the identity of the holder, because a holder that doesn't know the annotation keeps the
// previous value.
const LeadsForAnnotation = "signpost.dev/leads-for"

// maxLeadsFor bounds the annotation value that is read.
const maxLeadsFor = 64 << 10

// LeadsFor returns the description in a Lease. It returns false if nobody holds the Lease, or if the holder
// has set none.
func LeadsFor(lease *coordinationv1.Lease) (leadsFor string, known bool) {
	value := lease.Annotations[LeadsForAnnotation]
	if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" || len(value) > maxLeadsFor {
		return "", false
	}
	return strings.CutPrefix(value, *lease.Spec.HolderIdentity+" ")
}

// holderInfo is the description that the holder of the Lease has set.
type holderInfo struct {
	holder, leadsFor string
}

// annotating is a client of Leases that adds the annotations on writes and records them on reads. It needs no
// further rights, because the annotations are part of the election's requests.
type annotating struct {
	coordinationv1client.LeasesGetter
	// value is the annotation that this process writes; empty for none.
	value string
	seen  *atomic.Pointer[holderInfo]
	// handover has the texts from the former holder of the Lease and for the next one.
	handover *handover
	identity string
}

// Leases implements [coordinationv1client.LeasesGetter].
func (a annotating) Leases(namespace string) coordinationv1client.LeaseInterface {
	return annotatingLeases{a.LeasesGetter.Leases(namespace), a}
}

func (a annotating) annotated(lease *coordinationv1.Lease) *coordinationv1.Lease {
	lease = a.handover.annotated(lease)
	holder := lease.Spec.HolderIdentity
	if a.value == "" || holder == nil || *holder == "" {
		return lease
	}
	lease = lease.DeepCopy()
	if lease.Annotations == nil {
		lease.Annotations = map[string]string{}
	}
	lease.Annotations[LeadsForAnnotation] = *holder + " " + a.value
	return lease
}

func (a annotating) note(lease *coordinationv1.Lease, err error) (*coordinationv1.Lease, error) {
	if err != nil {
		return lease, err
	}
	a.handover.note(lease, a.identity)
	if leadsFor, known := LeadsFor(lease); known {
		a.seen.Store(&holderInfo{*lease.Spec.HolderIdentity, leadsFor})
	} else {
		a.seen.Store(nil)
	}
	return lease, nil
}

type annotatingLeases struct {
	coordinationv1client.LeaseInterface
	of annotating
}

// Get implements [coordinationv1client.LeaseInterface].
func (l annotatingLeases) Get(ctx context.Context, name string, o metav1.GetOptions) (*coordinationv1.Lease, error) {
	return l.of.note(l.LeaseInterface.Get(ctx, name, o))
}

// Create implements [coordinationv1client.LeaseInterface].
func (l annotatingLeases) Create(ctx context.Context, lease *coordinationv1.Lease, o metav1.CreateOptions) (*coordinationv1.Lease, error) {
	return l.of.note(l.LeaseInterface.Create(ctx, l.of.annotated(lease), o))
}

// Update implements [coordinationv1client.LeaseInterface].
func (l annotatingLeases) Update(ctx context.Context, lease *coordinationv1.Lease, o metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	return l.of.note(l.LeaseInterface.Update(ctx, l.of.annotated(lease), o))
}

// LeaderLeadsFor returns the description of the leader, if the leader is another process. It returns false if
// this process leads, if nobody does, or if the leader has set none.
func (e *Elector) LeaderLeadsFor() (leader, leadsFor string, known bool) {
	s := e.holderInfo.Load()
	if s == nil || s.holder == e.Identity() || s.holder != e.Leader() {
		return "", "", false
	}
	return s.holder, s.leadsFor, true
}

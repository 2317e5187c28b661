package leader

import (
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// The holder of a Lease describes what it leads for. The description of an earlier holder, or one that is too
// long, is ignored (split-horizon V10).
func TestLeadsFor(t *testing.T) {
	leases := fake.NewClientset().CoordinationV1()
	newElector := func(identity, leadsFor string) *Elector {
		e, err := New(Config{Client: leases, Namespace: "ns", Name: "a", Identity: identity, LeadsFor: leadsFor})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	leader, standby, old := newElector("leader", "public/1"), newElector("standby", "private/2"), newElector("old", "")
	hold := func(e *Elector) {
		t.Helper()
		client := e.config.Client.Leases("ns")
		lease, err := client.Get(t.Context(), "a", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", Annotations: map[string]string{"kept": "yes"}}}
			lease.Spec.HolderIdentity = &e.config.Identity
			_, err = client.Create(t.Context(), lease, metav1.CreateOptions{})
		} else if err == nil {
			lease.Spec.HolderIdentity = &e.config.Identity
			_, err = client.Update(t.Context(), lease, metav1.UpdateOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	look := func() (string, bool) {
		t.Helper()
		lease, err := standby.config.Client.Leases("ns").Get(t.Context(), "a", metav1.GetOptions{})
		if err != nil || lease.Annotations["kept"] != "yes" {
			t.Fatalf("%v, annotations %v", err, lease.Annotations)
		}
		standby.journal.observe(*lease.Spec.HolderIdentity, lease.CreationTimestamp.Time)
		_, leadsFor, known := standby.LeaderLeadsFor()
		return leadsFor, known
	}
	hold(leader)
	if leadsFor, known := look(); leadsFor != "public/1" || !known {
		t.Errorf("the leader leads for %q, %v", leadsFor, known)
	}
	hold(old)
	if leadsFor, known := look(); known {
		t.Errorf("a holder without a description leads for %q", leadsFor)
	}
	hold(standby)
	if leadsFor, known := look(); known {
		t.Errorf("this process leads, and the leader leads for %q", leadsFor)
	}
	leader.config.Client = annotating{leases, strings.Repeat("x", maxLeadsFor), leader.holderInfo, leader.handover, leader.Identity()}
	hold(leader)
	if _, known := look(); known {
		t.Error("a text without a limit is read")
	}
}

package catalog

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// For two pods with one address, the responses about the Service and about the address have the same pod, and
// both report the other one (mesh finding 5).
func TestAddressConflict(t *testing.T) {
	old, young := pod("old", runs("10.0.0.1"), readied, born(1)), pod("young", runs("10.0.0.1"), readied, born(2))
	both := slice("s", "web", IPv4, at("10.0.0.1", podKey("old")), at("10.0.0.1", podKey("young")))
	c := started(service("web"), old, young, both)
	want := []AddressConflict{{IP: netip.MustParseAddr("10.0.0.1"), Winner: young.ID(), Loser: old.ID()}}
	set := Resolve(c.Service(serviceKey("web")), Query{Port: 80})
	if diff := cmp.Diff([]string{"10.0.0.1:8080 young"}, show(set)) + cmp.Diff(want, set.Conflicts, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Errorf("the Service (-want +got):\n%s", diff)
	}
	profile := c.Profile(queryIP("10.0.0.1", 8080))
	defer profile.Release()
	if profile.Target == nil || profile.Target.Key != young.Key {
		t.Errorf("the address is that of %v", profile.Target)
	}
	if diff := cmp.Diff(want, profile.Conflicts, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Errorf("the address (-want +got):\n%s", diff)
	}
}

// If no rule decides between two pods, the Service has the first by name, and the conflict says so: the
// profile of the address is refused (mesh finding 5).
func TestUndecidedAddressConflict(t *testing.T) {
	a, b := pod("a", runs("10.0.0.1"), readied, born(1)), pod("b", runs("10.0.0.1"), readied, born(1))
	c := started(service("web"), a, b, slice("s", "web", IPv4, at("10.0.0.1", podKey("a")), at("10.0.0.1", podKey("b"))))
	want := []AddressConflict{{IP: netip.MustParseAddr("10.0.0.1"), Winner: a.ID(), Loser: b.ID(), Undecided: true}}
	set := Resolve(c.Service(serviceKey("web")), Query{Port: 80})
	if diff := cmp.Diff([]string{"10.0.0.1:8080 a"}, show(set)) + cmp.Diff(want, set.Conflicts, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Errorf("the Service (-want +got):\n%s", diff)
	}
}

// If no rule decides between two of three pods, the profile of the address is refused. So the third conflict is
// undecided, too: no pod gets the address.
func TestUndecidedAddressConflictOfThree(t *testing.T) {
	a, b := pod("a", runs("10.0.0.1"), readied, born(2)), pod("b", runs("10.0.0.1"), readied, born(2))
	old := pod("old", runs("10.0.0.1"), readied, born(1))
	c := started(old, b, a)
	profile := c.Profile(queryIP("10.0.0.1", 8080))
	defer profile.Release()
	ip := netip.MustParseAddr("10.0.0.1")
	want := []AddressConflict{
		{IP: ip, Winner: a.ID(), Loser: b.ID(), Undecided: true},
		{IP: ip, Winner: a.ID(), Loser: old.ID(), Undecided: true},
	}
	if diff := cmp.Diff(want, profile.Conflicts, cmpopts.EquateComparable(netip.Addr{})); profile.Result != ConflictFound || diff != "" {
		t.Errorf("the result is %v (-want +got):\n%s", profile.Result, diff)
	}
}

// A change of the readiness of a pod alone changes no response about a Service, because the readiness of its
// endpoint is in the slice.
func TestReadinessAloneKeepsSnapshots(t *testing.T) {
	a := pod("a", runs("10.0.0.1"))
	c := started(service("web"), a, slice("s", "web", IPv4, at("10.0.0.1", podKey("a"))))
	s := c.Service(serviceKey("web"))
	defer s.Release()
	apply(c, pod("a", runs("10.0.0.1"), readied))
	if isClosed(s.Stale()) {
		t.Error("the snapshot is stale")
	}
	apply(c, pod("a", runs("10.0.0.1"), readied, labelled("app", "web")))
	if !isClosed(s.Stale()) {
		t.Error("the snapshot isn't stale after the labels changed")
	}
}

// A slice can name any pod for any address. That is no conflict of the pod, which does not have the address,
// so no problem of the pod is reported.
func TestSliceWithAddressOfAnotherPodIsNoConflict(t *testing.T) {
	mine, other := pod("mine", runs("10.0.0.1"), readied, born(2)), pod("other", runs("10.0.0.2"), readied, born(1))
	other.Key.Namespace = "bank"
	lying := slice("s", "web", IPv4, at("10.0.0.1", podKey("mine")), at("10.0.0.1", other.Key))
	c := started(service("web"), mine, other, lying)
	set := Resolve(c.Service(serviceKey("web")), Query{Port: 80})
	if diff := cmp.Diff([]string{"10.0.0.1:8080 mine"}, show(set)); diff != "" {
		t.Errorf("endpoints (-want +got):\n%s", diff)
	}
	if len(set.Conflicts) > 0 {
		t.Errorf("conflicts: %v", set.Conflicts)
	}
}

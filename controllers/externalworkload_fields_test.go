package controllers_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/signpostd/signpost/api/workload"
)

// isReady reports whether traffic may be sent to a workload.
func isReady(w *workload.ExternalWorkload) bool {
	return slices.ContainsFunc(w.Status.Conditions, func(c workload.Condition) bool {
		return c.Type == "Ready" && c.Status == "True"
	})
}

// ipsOf returns the addresses of a family that an endpoint may have.
func ipsOf(w *workload.ExternalWorkload, family corev1.IPFamily) []netip.Addr {
	var list []netip.Addr
	for _, ip := range w.Spec.WorkloadIPs {
		a, err := netip.ParseAddr(ip.IP)
		a = a.Unmap()
		if err == nil && !a.IsLoopback() && a.Is4() == (family == corev1.IPv4Protocol) && !slices.Contains(list, a) {
			list = append(list, a)
		}
	}
	return list
}

// lastNumber is the last number that was used in an address or a name.
var lastNumber atomic.Uint32

func newIPv4() string {
	n := lastNumber.Add(1)
	return netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)}).String()
}

func newIPv6() string {
	n := lastNumber.Add(1)
	return fmt.Sprintf("fd00::%x:%x:1", n>>16, n&0xffff)
}

// machineFields are functions that each change one field.
var machineFields = []func(v *workload.ExternalWorkload, r *rand.Rand){
	func(v *workload.ExternalWorkload, r *rand.Rand) { v.Spec.WorkloadIPs = someIPs(r) },
	func(v *workload.ExternalWorkload, r *rand.Rand) {
		v.Spec.Ports[0].Port = other(r, v.Spec.Ports[0].Port, 8080, 8080, 8081, 20000+r.Int32N(10000))
	},
	func(v *workload.ExternalWorkload, r *rand.Rand) {
		v.Spec.Ports[0].Name = other(r, v.Spec.Ports[0].Name, "http", "http", "web", "")
	},
	func(v *workload.ExternalWorkload, r *rand.Rand) {
		v.Spec.Ports[0].Protocol = other(r, v.Spec.Ports[0].Protocol, "TCP", "TCP", "UDP")
	},
	changePorts,
	func(v *workload.ExternalWorkload, _ *rand.Rand) {
		v.Spec.MeshTLS.Identity = newName("spiffe://trust.test/vm")
	},
	func(v *workload.ExternalWorkload, _ *rand.Rand) {
		v.Spec.MeshTLS.ServerName = newName("vm") + ".example.org"
	},
	func(v *workload.ExternalWorkload, r *rand.Rand) {
		zone := other(r, v.Labels[corev1.LabelTopologyZone], "a", "b", "c", "")
		v.Labels[corev1.LabelTopologyZone] = zone
		if zone == "" && r.IntN(2) == 0 {
			delete(v.Labels, corev1.LabelTopologyZone)
		}
	},
	func(v *workload.ExternalWorkload, _ *rand.Rand) { v.Labels["version"] = newName("v") },
	func(v *workload.ExternalWorkload, r *rand.Rand) {
		metav1.SetMetaDataAnnotation(&v.ObjectMeta, "config.linkerd.io/opaque-ports", other(r, "", "8080", "http", "admin, 8000-8999", "1-65535", "nonsense-,9090"))
	},
	func(v *workload.ExternalWorkload, _ *rand.Rand) {
		metav1.SetMetaDataAnnotation(&v.ObjectMeta, "example.org/note", newName("note"))
	},
	changeOwner,
}

// unselect is a change, too. The label is restored before the workload is expected in slices.
func unselect(v *workload.ExternalWorkload, _ *rand.Rand) { v.Labels["app"] = "another" }

func newName(prefix string) string { return fmt.Sprintf("%s-%d", prefix, lastNumber.Add(1)) }

func other[T comparable](r *rand.Rand, old T, values ...T) T {
	values = slices.DeleteFunc(values, func(v T) bool { return v == old })
	return values[r.IntN(len(values))]
}

func someIPs(r *rand.Rand) []workload.WorkloadIP {
	v4, v6 := newIPv4, newIPv6
	mapped := func() string { return "::ffff:" + v4() }
	bad := func() string { return other(r, "", "127.0.0.1", "nonsense", "300.1.1.1") }
	styles := [][]func() string{{v4}, {v4}, {v6}, {v4, v6}, {v4, v6}, {v6, v4}, {v6, v4}, {v4, v4}, {v6, v6}, {bad, v4}, {v6, bad}, {mapped}, {bad}, {}}
	var ips []workload.WorkloadIP
	for _, make := range styles[r.IntN(len(styles))] {
		ips = append(ips, workload.WorkloadIP{IP: make()})
	}
	return ips
}

// changePorts changes the ports after the first one, or their order.
func changePorts(v *workload.ExternalWorkload, r *rand.Rand) {
	ports := []workload.Port{v.Spec.Ports[0]}
	for _, p := range []workload.Port{
		{Name: "admin", Port: other[int32](r, 0, 9090, 9091), Protocol: "TCP"},
		{Name: "linkerd-proxy", Port: 4000 + r.Int32N(200), Protocol: "TCP"},
		{Name: "dns", Port: 8080, Protocol: "UDP"},
	} {
		if r.IntN(3) > 0 {
			ports = append(ports, p)
		}
	}
	rest := ports[1:]
	r.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
	v.Spec.Ports = ports
}

func changeOwner(v *workload.ExternalWorkload, r *rand.Rand) {
	kind := other(r, "", "WorkloadGroup", "Deployment")
	owner := func() metav1.OwnerReference {
		name := newName("owner")
		return metav1.OwnerReference{APIVersion: "example.org/v1", Kind: kind, Name: name, UID: types.UID(name)}
	}
	if len(v.OwnerReferences) != 1 {
		v.OwnerReferences = []metav1.OwnerReference{owner()}
		return
	}
	v.OwnerReferences = [][]metav1.OwnerReference{nil, {owner()}, {owner(), owner()}}[r.IntN(3)]
}

// newMachine returns a workload that the Service with the label app selects.
func newMachine(name, app string, r *rand.Rand) *workload.ExternalWorkload {
	v := &workload.ExternalWorkload{}
	v.TypeMeta = metav1.TypeMeta{APIVersion: workload.SchemeGroupVersion.String(), Kind: "ExternalWorkload"}
	v.Name = name
	v.Labels = map[string]string{"app": app}
	v.Spec.Ports = []workload.Port{{Name: "http", Port: 8080, Protocol: "TCP"}}
	for _, change := range machineFields {
		change(v, r)
	}
	fixMachine(v, app, r)
	if r.IntN(5) == 0 {
		v.Finalizers = []string{"example.org/hold"}
	}
	return v
}

// fixMachine makes the Service select the workload, nearly always with a usable address and port.
func fixMachine(v *workload.ExternalWorkload, app string, r *rand.Rand) {
	v.Labels["app"] = app
	if r.IntN(10) == 0 {
		return
	}
	v.Spec.Ports[0].Name, v.Spec.Ports[0].Protocol = "http", "TCP"
	if len(ipsOf(v, corev1.IPv4Protocol))+len(ipsOf(v, corev1.IPv6Protocol)) == 0 {
		v.Spec.WorkloadIPs = []workload.WorkloadIP{{IP: newIPv4()}, {IP: newIPv6()}}
	}
}

// conditions returns one of several lists of conditions for a ready or an unready workload.
func conditions(ready bool, r *rand.Rand) []workload.Condition {
	now := metav1.NewTime(time.Now().Truncate(time.Second))
	healthy := workload.Condition{Type: "Healthy", Status: "True", LastProbeTime: &now, LastTransitionTime: &now}
	is := func(status metav1.ConditionStatus) workload.Condition {
		return workload.Condition{Type: "Ready", Status: status, LastTransitionTime: &now, Reason: newName("Reason"), Message: "as it is"}
	}
	if ready {
		return [][]workload.Condition{{is("True")}, {healthy, is("True")}, {is("True"), healthy}, {is("False"), is("True")}}[r.IntN(4)]
	}
	return [][]workload.Condition{nil, {healthy}, {is("False")}, {is("Unknown"), healthy}}[r.IntN(4)]
}

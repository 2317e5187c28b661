package kinds

import (
	"fmt"
	"hash/fnv"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/kube"
)

// The labels and annotations that say something about endpoints.
const (
	opaquePortsAnnotation      = "config.linkerd.io/opaque-ports"
	skipInboundPortsAnnotation = "config.linkerd.io/skip-inbound-ports"
	gatewayIdentityAnnotation  = "mirror.linkerd.io/remote-gateway-identity"
	remoteNameAnnotation       = "mirror.linkerd.io/remote-svc-fq-name"
	targetClusterLabel         = "mirror.linkerd.io/cluster-name"
)

// problems collects the problems of one object, which is in the namespace.
type problems struct {
	namespace string
	list      []kube.Problem
}

// add adds a problem of a field. The path of the field is a format for the indexes: it is
// formatted only when there is a problem.
func (p *problems) add(reason, path string, indexes ...any) {
	p.list = append(p.list, kube.Problem{Field: fmt.Sprintf(path, indexes...), Reason: reason})
}

// portNumber returns the port of a number, and false when it is no port.
func portNumber(n int32) (uint16, bool) { return uint16(n), n >= 1 && n <= 65535 }

func notPort(n int32) string {
	return fmt.Sprintf("%d is no port; use a number from 1 to 65535", n)
}

// address returns the IP address in a text, and false when there is none.
func address(text string) (netip.Addr, bool) {
	a, err := netip.ParseAddr(text)
	return a, err == nil && a.Zone() == ""
}

// addresses reads a list of IP addresses. It leaves out empty texts, and texts that are no IP
// addresses, for which it adds a problem.
func addresses(list []string, field string, p *problems) []netip.Addr {
	var kept []netip.Addr
	for i, text := range list {
		a, ok := address(text)
		switch {
		case ok:
			if kept == nil {
				kept = make([]netip.Addr, 0, len(list))
			}
			kept = append(kept, a)
		case text != "":
			p.add(notAddress(text), "%s[%d]", field, i)
		}
	}
	return kept
}

// texts returns the text in each item of a list.
func texts[T any](list []T, text func(T) string) []string {
	all := make([]string, len(list))
	for i, item := range list {
		all[i] = text(item)
	}
	return all
}

func notAddress(text string) string {
	return fmt.Sprintf("%q is no IP address; use one like 10.0.0.1 or 2001:db8::1", text)
}

// value returns the value of an optional field.
func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// copyOf returns the entry of a map as an optional value.
func copyOf(s kube.Scope, m map[string]string, name string) *string {
	text, ok := m[name]
	if !ok {
		return nil
	}
	text = s.Intern(text)
	return &text
}

// owner returns the owner of an object that has exactly one; otherwise the zero value.
func owner(s kube.Scope, m metav1.Object) catalog.OwnerRef {
	refs := m.GetOwnerReferences()
	if len(refs) != 1 {
		return catalog.OwnerRef{}
	}
	return catalog.OwnerRef{Kind: s.Intern(refs[0].Kind), Name: s.Intern(refs[0].Name)}
}

// targetOf returns the workload that a reference in an object of this namespace names, the
// zero key for no reference. It returns false for a reference to anything but these kinds.
func targetOf(s kube.Scope, ref *corev1.ObjectReference, namespace string, kinds ...catalog.WorkloadKind) (catalog.WorkloadKey, bool) {
	if ref == nil {
		return catalog.WorkloadKey{}, true
	}
	i := slices.Index(kinds, catalog.WorkloadKind(ref.Kind))
	if i < 0 || ref.Name == "" {
		return catalog.WorkloadKey{}, false
	}
	// ExternalWorkloads are found in the namespace of the slice only.
	if kinds[i] == catalog.Pod && ref.Namespace != "" {
		namespace = ref.Namespace
	}
	return catalog.WorkloadKey{Kind: kinds[i], Cluster: s.Cluster, Namespace: s.Intern(namespace), Name: ref.Name}, true
}

// uid returns what the catalog keeps of a UID.
func uid(of types.UID) catalog.UID {
	if of == "" {
		return 0
	}
	h := fnv.New64a()
	h.Write([]byte(of)) // never fails
	return catalog.UID(h.Sum64())
}

// targetUID returns the UID in a reference.
func targetUID(ref *corev1.ObjectReference) catalog.UID {
	if ref == nil {
		return 0
	}
	return uid(ref.UID)
}

func notTarget(ref *corev1.ObjectReference, allowed string) string {
	return fmt.Sprintf("a reference to %s %q can't be followed, so the endpoint is not used; refer to %s by name", ref.Kind, ref.Name, allowed)
}

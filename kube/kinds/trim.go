package kinds

import (
	"fmt"
	"hash/fnv"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/signpostd/signpost/catalog"
)

// The labels and annotations about endpoints.
const (
	opaquePortsAnnotation      = "config.linkerd.io/opaque-ports"
	skipInboundPortsAnnotation = "config.linkerd.io/skip-inbound-ports"
	gatewayIdentityAnnotation  = "mirror.linkerd.io/remote-gateway-identity"
	remoteNameAnnotation       = "mirror.linkerd.io/remote-svc-fq-name"
	targetClusterLabel         = "mirror.linkerd.io/cluster-name"
)

func texts[T any](list []T, text func(T) string) []string {
	all := make([]string, len(list))
	for i, item := range list {
		all[i] = text(item)
	}
	return all
}

// value returns the value of an optional field.
func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// label returns a label of an object; nil if it is missing. If the value doesn't fit, the object is refused,
// because without the label it would mean something else.
func (d *fieldReader) label(m map[string]string, key string) *string {
	text, ok := m[key]
	if !ok {
		return nil
	}
	text = d.required(text, labelLimit, "metadata.labels["+key+"]")
	return &text
}

// owner returns the owner of an object that has exactly one; otherwise the zero value.
func (d *fieldReader) owner(refs []metav1.OwnerReference) catalog.OwnerRef {
	if len(refs) != 1 {
		return catalog.OwnerRef{}
	}
	kind, okKind := d.text(refs[0].Kind, labelLimit)
	name, okName := d.text(refs[0].Name, nameLimit)
	if !okKind || !okName {
		d.Add(fmt.Sprintf("the owner %s %s isn't UTF-8 or is too long, so the object counts as without owner", quote(refs[0].Kind), quote(refs[0].Name)), "metadata.ownerReferences[0]")
		return catalog.OwnerRef{}
	}
	return catalog.OwnerRef{Kind: kind, Name: name}
}

// targetOf returns the workload of a target reference; the zero key for a nil reference. It returns false for
// a reference to any other kind.
func (d *fieldReader) targetOf(ref *corev1.ObjectReference, kinds ...catalog.WorkloadKind) (catalog.WorkloadKey, bool) {
	if ref == nil {
		return catalog.WorkloadKey{}, true
	}
	i := slices.Index(kinds, catalog.WorkloadKind(ref.Kind))
	if i < 0 || ref.Name == "" || !fits(ref.Name, nameLimit) {
		return catalog.WorkloadKey{}, false
	}
	namespace := d.namespace
	// ExternalWorkloads are looked up in the namespace of the slice only.
	if kinds[i] == catalog.Pod && ref.Namespace != "" {
		namespace = ref.Namespace
	}
	namespace, ok := d.text(namespace, nameLimit)
	return catalog.WorkloadKey{Kind: kinds[i], Cluster: d.scope.Cluster, Namespace: namespace, Name: ref.Name}, ok
}

// uid returns a UID as the catalog keeps it: hashed.
func uid(of types.UID) catalog.UID {
	if of == "" {
		return 0
	}
	h := fnv.New64a()
	h.Write([]byte(of)) // never fails
	return catalog.UID(h.Sum64())
}

func targetUID(ref *corev1.ObjectReference) catalog.UID {
	if ref == nil {
		return 0
	}
	return uid(ref.UID)
}

func (d *fieldReader) invalidTarget(ref *corev1.ObjectReference, allowed string) string {
	if d.Full() {
		return ""
	}
	return fmt.Sprintf("a reference to %.*s %s can't be followed, so the endpoint is not used; refer to %s by name", quoteLimit, ref.Kind, quote(ref.Name), allowed)
}

package catalog

import (
	"slices"
	"strings"

	"github.com/signpostd/signpost/internal/objectmeta"
)

// Target is a workload with its resolved owner and its opaque and skipped ports. Its Ready may be out of
// date.
type Target struct {
	*Workload
	// OwnerKind and OwnerName are the topmost known owner of the workload (spec/destination.md §A.4), the
	// kind in lower case. A pod without an owner, or with several, is its own owner, of kind "pod". An
	// ExternalWorkload then has none.
	OwnerKind, OwnerName string

	opaque  PortSet
	skipped PortSet
}

// Opaque reports whether the port is opaque. An opaque port is listed in the annotation of the workload or,
// without an annotation, in the default list, or is selected by a Server with proxyProtocol "opaque".
func (t *Target) Opaque(port uint16) bool { return t.opaque.Has(port) }

// Skipped reports whether inbound traffic to the port bypasses the pod's proxy.
func (t *Target) Skipped(port uint16) bool { return t.skipped.Has(port) }

// target computes the Target of a workload from the current state and the Servers that select the workload.
func (s *state) target(w *Workload, servers []*Server, o *Options) *Target {
	t := &Target{Workload: w}
	t.OwnerKind, t.OwnerName = s.rootOwner(w)
	t.opaque = o.DefaultOpaquePorts
	if w.OpaquePorts != nil {
		t.opaque = *w.OpaquePorts
	}
	if w.SkipInboundPorts != nil {
		t.skipped = *w.SkipInboundPorts
	}
	var selected []PortRange
	for _, server := range servers {
		selected = server.appendPorts(selected, w)
	}
	t.opaque = t.opaque.with(selected)
	return t
}

// rootOwner returns the owner for the metric labels of a workload.
func (s *state) rootOwner(w *Workload) (kind, name string) {
	if w.Owner == (OwnerRef{}) {
		if w.Key.Kind == Pod {
			return "pod", w.Key.Name
		}
		return "", ""
	}
	kind, name = strings.ToLower(w.Owner.Kind), w.Owner.Name
	if w.Key.Kind != Pod {
		return kind, name
	}
	owner := s.owners[w.ownerID()]
	if owner == nil || owner.Parent == (OwnerRef{}) {
		return kind, name
	}
	parent := strings.ToLower(owner.Parent.Kind)
	switch {
	case kind == "job":
		return parent, owner.Parent.Name
	case kind == "replicaset" && slices.Contains([]string{"job", "statefulset", "daemonset", "deployment"}, parent):
		return parent, owner.Parent.Name
	}
	return kind, name
}

// Problem returns a problem of the workload.
func (k WorkloadKey) Problem(field, reason string) objectmeta.Problem {
	p := objectmeta.Problem{Kind: string(k.Kind), Namespace: k.Namespace, Name: k.Name, Field: field, Reason: reason}
	if k.Cluster != LocalCluster {
		p.Cluster = k.Cluster
	}
	return p
}

// ownerID names the workload's owner as an object of the catalog.
func (w *Workload) ownerID() ID {
	return ID{Kind: KindOwner, Cluster: w.Key.Cluster, Namespace: w.Key.Namespace, Name: w.Owner.Name, Qualifier: w.Owner.Kind}
}

package catalog

import "github.com/signpostd/signpost/internal/object"

// Problem returns a problem of the workload.
func (k WorkloadKey) Problem(field, reason string) object.Problem {
	p := object.Problem{Kind: string(k.Kind), Namespace: k.Namespace, Name: k.Name, Field: field, Reason: reason}
	if k.Cluster != LocalCluster {
		p.Cluster = k.Cluster
	}
	return p
}

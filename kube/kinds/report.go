package kinds

import (
	"time"

	"github.com/signpostd/signpost/internal/objectmeta"
	"github.com/signpostd/signpost/kube"
)

// ReportTo returns a [kube.Report] for the tables of a cluster that adds the name of the cluster (empty for
// our own) and calls report. It returns nil if report is nil.
func ReportTo(report objectmeta.Report, cluster string) kube.Report {
	if report == nil {
		return nil
	}
	return func(of kube.ObjectRef, p kube.Problem) {
		report(objectmeta.Problem{
			Kind: of.Kind, Namespace: of.Namespace, Name: of.Name, UID: of.UID, Cluster: cluster,
			Field: p.Field, Reason: p.Reason,
		})
	}
}

// FixedTo is as [ReportTo], for problems that are fixed.
func FixedTo(fixed objectmeta.Fixed, cluster string) kube.Fixed {
	if fixed == nil {
		return nil
	}
	return func(of kube.ObjectRef, before time.Time) {
		fixed(objectmeta.Problem{Kind: of.Kind, Namespace: of.Namespace, Name: of.Name, UID: of.UID, Cluster: cluster}, before)
	}
}

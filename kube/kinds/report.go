package kinds

import (
	"github.com/signpostd/signpost/internal/objectmeta"
	"github.com/signpostd/signpost/kube"
)

// ReportTo returns a report for the tables of a cluster that passes its problems to report,
// with the name of the cluster, which is empty for our own. It returns nil when report is nil.
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

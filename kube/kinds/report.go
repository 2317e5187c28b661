package kinds

import (
	"github.com/signpostd/signpost/internal/object"
	"github.com/signpostd/signpost/kube"
)

// ReportTo returns what hands the problems of a cluster's objects to report. The cluster is
// named in them unless it is our own, which is the empty name. Without a report nobody wants them.
func ReportTo(report object.Report, cluster string) kube.Report {
	if report == nil {
		return nil
	}
	return func(of kube.Of, p kube.Problem) {
		report(object.Problem{
			Kind: of.Kind, Namespace: of.Namespace, Name: of.Name, UID: of.UID, Cluster: cluster,
			Field: p.Field, Reason: p.Reason,
		})
	}
}

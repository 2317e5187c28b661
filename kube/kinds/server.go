package kinds

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/signpostd/signpost/api/policy"
	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/kube"
)

// Servers is the kind policy.linkerd.io/v1beta3 Server.
func Servers() kube.Kind[catalog.Server] {
	return kube.Kind[catalog.Server]{
		Name: "server", Lag: "servers", Optional: true,
		Resource: policy.SchemeGroupVersion.WithResource("servers"),
		Form:     kube.JSON(policy.AddToScheme, func() runtime.Object { return &policy.ServerList{} }),
		Trim:     kube.TrimOf(trimServer),
	}
}

func trimServer(s kube.Scope, srv *policy.Server) (*catalog.Server, []kube.Problem) {
	d := newFieldReader(s, srv.Namespace, srv.Name)
	if srv.Spec.Problem != "" {
		d.refuse(srv.Spec.Problem, "spec")
		return nil, d.List()
	}
	trimmed := &catalog.Server{
		Cluster: s.Cluster, Namespace: s.Intern(srv.Namespace), Name: srv.Name,
		Pods:              d.selector(srv.Spec.PodSelector, "spec.podSelector"),
		ExternalWorkloads: d.selector(srv.Spec.ExternalWorkloadSelector, "spec.externalWorkloadSelector"),
		Opaque:            srv.Spec.ProxyProtocol == policy.ProxyProtocolOpaque,
	}
	if port := srv.Spec.Port; port.Type == intstr.String {
		trimmed.PortName = d.required(port.StrVal, labelLimit, "spec.port")
	} else if number, ok := portNumber(port.IntVal); ok {
		trimmed.PortNumber = number
	} else {
		d.Add(d.invalidPort(port.IntVal), "spec.port")
	}
	return admitted(&d, trimmed)
}

// selector returns the selector of a Server. nil selects nothing: it is returned for a missing selector and,
// with a problem, for an invalid one. The syntax of labels limits the texts.
func (d *fieldReader) selector(from *metav1.LabelSelector, field string) *catalog.Selector {
	if from == nil {
		return nil
	}
	parsed, err := parseSelector(from)
	if err != nil {
		d.Add(err.Error()+"; the selector selects nothing until it is corrected", "%s", field)
		return nil
	}
	requirements, _ := parsed.Requirements()
	selector := &catalog.Selector{}
	for _, r := range requirements {
		selector.Requirements = append(selector.Requirements, requirement(d.scope, r))
	}
	return selector
}

func parseSelector(from *metav1.LabelSelector) (labels.Selector, error) {
	if n := len(from.MatchLabels) + len(from.MatchExpressions); n > requirementsLimit {
		return nil, fmt.Errorf("there are %d requirements, and %d are allowed", n, requirementsLimit)
	}
	n := 0
	for _, e := range from.MatchExpressions {
		n += len(e.Values)
	}
	if n > valuesLimit {
		return nil, fmt.Errorf("there are %d values, and %d are allowed", n, valuesLimit)
	}
	return metav1.LabelSelectorAsSelector(from)
}

func requirement(s kube.Scope, r labels.Requirement) catalog.Requirement {
	req := catalog.Requirement{Key: s.Intern(r.Key())}
	switch r.Operator() {
	case selection.Exists:
		req.Operator = catalog.Exists
		return req
	case selection.DoesNotExist:
		req.Operator = catalog.DoesNotExist
		return req
	case selection.NotIn:
		req.Operator = catalog.NotIn
	default: // In, and Equals of matchLabels
		req.Operator = catalog.In
	}
	for v := range r.Values() {
		req.Values = append(req.Values, s.Intern(v))
	}
	slices.Sort(req.Values)
	return req
}

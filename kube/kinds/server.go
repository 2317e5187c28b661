package kinds

import (
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
	p := &problems{}
	if srv.Spec.Problem != "" {
		p.add(srv.Spec.Problem+"; the last good version stays in use", "spec")
		return nil, p.list
	}
	trimmed := &catalog.Server{
		Cluster: s.Cluster, Namespace: s.Intern(srv.Namespace), Name: srv.Name,
		Pods:              selector(s, srv.Spec.PodSelector, "spec.podSelector", p),
		ExternalWorkloads: selector(s, srv.Spec.ExternalWorkloadSelector, "spec.externalWorkloadSelector", p),
		Opaque:            srv.Spec.ProxyProtocol == policy.ProxyProtocolOpaque,
	}
	if port := srv.Spec.Port; port.Type == intstr.String {
		trimmed.PortName = s.Intern(port.StrVal)
	} else if number, ok := portNumber(port.IntVal); ok {
		trimmed.PortNumber = number
	} else {
		p.add(notPort(port.IntVal), "spec.port")
	}
	return trimmed, p.list
}

// selector returns nil, which selects nothing, for no selector. It does so for one that doesn't
// parse, too, and adds a problem.
func selector(s kube.Scope, from *metav1.LabelSelector, field string, p *problems) *catalog.Selector {
	if from == nil {
		return nil
	}
	parsed, err := metav1.LabelSelectorAsSelector(from)
	if err != nil {
		p.add(err.Error()+"; the selector selects nothing until it is corrected", "%s", field)
		return nil
	}
	requirements, _ := parsed.Requirements()
	selector := &catalog.Selector{}
	for _, r := range requirements {
		selector.Requirements = append(selector.Requirements, requirement(s, r))
	}
	return selector
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

package kinds

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/signpostd/signpost/api/linkerd"
	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/kube"
)

// ServiceProfiles is the kind linkerd.io/v1alpha2 ServiceProfile.
func ServiceProfiles() kube.Kind[catalog.ServiceProfile] {
	return kube.Kind[catalog.ServiceProfile]{
		Name: "serviceprofile", Lag: "serviceprofiles", Optional: true,
		Resource: linkerd.SchemeGroupVersion.WithResource("serviceprofiles"),
		Form:     kube.JSON(linkerd.AddToScheme, func() runtime.Object { return &linkerd.ServiceProfileList{} }),
		Trim:     kube.TrimOf(trimServiceProfile),
	}
}

func trimServiceProfile(s kube.Scope, sp *linkerd.ServiceProfile) (*catalog.ServiceProfile, []kube.Problem) {
	p := &problems{}
	if sp.Spec.Problem != "" {
		p.add(sp.Spec.Problem+"; the last good version stays in use", "spec")
		return nil, p.list
	}
	trimmed := &catalog.ServiceProfile{Cluster: s.Cluster, Namespace: s.Intern(sp.Namespace), Name: sp.Name}
	for _, r := range sp.Spec.Routes {
		trimmed.Routes = append(trimmed.Routes, route(r))
	}
	if b := sp.Spec.RetryBudget; b != nil {
		trimmed.RetryBudget = &catalog.RetryBudget{Ratio: b.RetryRatio, MinRetriesPerSecond: b.MinRetriesPerSecond, TTL: b.TTL}
	}
	for _, d := range sp.Spec.DstOverrides {
		trimmed.DstOverrides = append(trimmed.DstOverrides, catalog.WeightedDst{Authority: d.Authority, MilliWeight: d.Weight.MilliValue()})
	}
	return trimmed, p.list
}

func route(r linkerd.Route) catalog.Route {
	trimmed := catalog.Route{Name: r.Name, Condition: requestMatch(r.Condition), Retryable: r.IsRetryable, Timeout: r.Timeout}
	for _, c := range r.ResponseClasses {
		trimmed.ResponseClasses = append(trimmed.ResponseClasses, catalog.ResponseClass{Condition: responseMatch(c.Condition), Failure: c.IsFailure})
	}
	return trimmed
}

// requestMatch keeps nil children, which make the condition invalid.
func requestMatch(m *linkerd.RequestMatch) *catalog.RequestMatch {
	if m == nil {
		return nil
	}
	return &catalog.RequestMatch{
		All: eachMatch(m.All, requestMatch), Any: eachMatch(m.Any, requestMatch), Not: requestMatch(m.Not),
		Method: m.Method, PathRegex: m.PathRegex,
	}
}

// responseMatch keeps nil children, as requestMatch does.
func responseMatch(m *linkerd.ResponseMatch) *catalog.ResponseMatch {
	if m == nil {
		return nil
	}
	trimmed := &catalog.ResponseMatch{
		All: eachMatch(m.All, responseMatch), Any: eachMatch(m.Any, responseMatch), Not: responseMatch(m.Not),
	}
	if m.Status != nil {
		trimmed.Status = &catalog.StatusRange{Min: m.Status.Min, Max: m.Status.Max}
	}
	return trimmed
}

func eachMatch[A, B any](list []*A, trim func(*A) *B) []*B {
	if list == nil {
		return nil
	}
	trimmed := make([]*B, len(list))
	for i, m := range list {
		trimmed[i] = trim(m)
	}
	return trimmed
}

package kinds

import (
	"fmt"
	"time"

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
	d := newFieldReader(s, sp.Namespace, sp.Name)
	if sp.Spec.Problem != "" {
		d.refuse(sp.Spec.Problem, "spec")
		return nil, d.List()
	}
	trimmed := &catalog.ServiceProfile{Cluster: s.Cluster, Namespace: s.Intern(sp.Namespace), Name: sp.Name}
	// Without some of its routes or conditions, the profile would mean something else.
	d.limitItems("spec.routes", len(sp.Spec.Routes), routesLimit)
	d.limitItems("spec.dstOverrides", len(sp.Spec.DstOverrides), overridesLimit)
	if d.refused {
		return nil, d.List()
	}
	if b := sp.Spec.RetryBudget; b != nil {
		ttl, err := time.ParseDuration(b.TTL)
		if err != nil {
			d.Add(quote(b.TTL)+" is no duration such as 10s; the default profile is served instead", "spec.retryBudget.ttl")
			trimmed.Invalid = true
			return admitted(&d, trimmed)
		}
		trimmed.RetryBudget = &catalog.RetryBudget{Ratio: b.RetryRatio, MinRetriesPerSecond: b.MinRetriesPerSecond, TTL: ttl}
		d.budget(trimmed.RetryBudget)
	}
	for i := range sp.Spec.Routes {
		trimmed.Routes = append(trimmed.Routes, d.route(&sp.Spec.Routes[i], i))
	}
	for i := range sp.Spec.DstOverrides {
		o := &sp.Spec.DstOverrides[i]
		if o.Weight.Sign() < 0 {
			d.Add("the weight is negative; it counts as 0, so the destination gets no traffic", "spec.dstOverrides[%d].weight", i)
		}
		trimmed.DstOverrides = append(trimmed.DstOverrides, catalog.WeightedDst{
			Authority: d.required(o.Authority, authorityLimit, "spec.dstOverrides"), MilliWeight: o.Weight.MilliValue(),
		})
	}
	return admitted(&d, trimmed)
}

// The numbers that Linkerd's proxies can use in a retry budget.
const (
	maxRetryRatio = 1000
	minRetryTTL   = time.Second
	maxRetryTTL   = time.Minute
)

// budget adds a problem for each number of a retry budget that proxies can't use. The budget is not changed,
// because Linkerd sends such numbers, too.
func (d *fieldReader) budget(b *catalog.RetryBudget) {
	if !(b.Ratio >= 0 && b.Ratio <= maxRetryRatio) {
		d.Add(fmt.Sprintf("%v is not between 0 and %d; proxies may ignore the budget", b.Ratio, maxRetryRatio), "spec.retryBudget.retryRatio")
	}
	if b.MinRetriesPerSecond < 0 {
		d.Add("the number is negative; it counts as 0", "spec.retryBudget.minRetriesPerSecond")
	}
	if b.TTL < minRetryTTL || b.TTL > maxRetryTTL {
		d.Add(fmt.Sprintf("%v is not between %v and %v; proxies may ignore the budget", b.TTL, minRetryTTL, maxRetryTTL), "spec.retryBudget.ttl")
	}
}

// limitItems refuses the object if a list of it has more items than the limit.
func (d *fieldReader) limitItems(field string, items, limit int) {
	if items > limit {
		d.refuse(fmt.Sprintf("there are %d items, and %d are allowed", items, limit), "%s", field)
	}
}

func (d *fieldReader) route(r *linkerd.Route, index int) catalog.Route {
	trimmed := catalog.Route{Name: d.required(r.Name, routeNameLimit, "spec.routes"), Condition: d.requestMatch(r.Condition), Retryable: r.IsRetryable}
	if r.Timeout != "" {
		timeout, err := time.ParseDuration(r.Timeout)
		if err != nil {
			d.Add(quote(r.Timeout)+" is no duration such as 300ms; the route has no timeout", "spec.routes[%d].timeout", index)
		}
		trimmed.Timeout = timeout
	}
	d.regexps(trimmed.Condition, index)
	for i := range r.ResponseClasses {
		class := &r.ResponseClasses[i]
		trimmed.ResponseClasses = append(trimmed.ResponseClasses, catalog.ResponseClass{Condition: d.responseMatch(class.Condition), Failure: class.IsFailure})
	}
	return trimmed
}

// regexps adds a problem for each invalid regular expression of a condition. The profile is not changed,
// because Linkerd sends such expressions, too.
func (d *fieldReader) regexps(m *catalog.RequestMatch, index int) {
	for _, broken := range m.BrokenRegexps() {
		d.Add(quote(broken)+" is not a regular expression; proxies ignore the route", "spec.routes[%d].condition.pathRegex", index)
	}
}

// countCondition reports whether the object may have another condition. If not, the object is refused.
func (d *fieldReader) countCondition() bool {
	if d.conditions == 0 {
		d.refuse(fmt.Sprintf("there are more than %d conditions", conditionsLimit), "spec.routes")
	}
	d.conditions--
	return d.conditions >= 0
}

// requestMatch keeps nil children, which make the condition invalid.
func (d *fieldReader) requestMatch(m *linkerd.RequestMatch) *catalog.RequestMatch {
	if !d.countCondition() || m == nil {
		return nil
	}
	return &catalog.RequestMatch{
		All: eachMatch(m.All, d.requestMatch), Any: eachMatch(m.Any, d.requestMatch), Not: d.requestMatch(m.Not),
		Method: d.required(m.Method, methodLimit, "spec.routes"), PathRegex: d.required(m.PathRegex, regexLimit, "spec.routes"),
	}
}

// responseMatch keeps nil children, which make the condition invalid.
func (d *fieldReader) responseMatch(m *linkerd.ResponseMatch) *catalog.ResponseMatch {
	if !d.countCondition() || m == nil {
		return nil
	}
	trimmed := &catalog.ResponseMatch{
		All: eachMatch(m.All, d.responseMatch), Any: eachMatch(m.Any, d.responseMatch), Not: d.responseMatch(m.Not),
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

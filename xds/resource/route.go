package resource

import (
	"fmt"
	"math"
	"time"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/sanitize"
)

// The retries of a route of a ServiceProfile that is retryable (gRFC A44).
const (
	retryableStatuses = "unavailable,cancelled,resource-exhausted,internal"
	retryableCount    = 2
)

// channelID is the filter state of gRPC clients with an identifier of the channel (gRFC A42).
const channelID = "io.grpc.channel_id"

// maxRoutes limits the routes of a resource. A route with the condition `any` becomes several
// routes.
const maxRoutes = 1000

// routes returns the VirtualHost of a RouteConfiguration (§3.2), the Clusters that it refers to,
// and the parts of a ServiceProfile that it lacks.
func (n Namer) routes(s Input, c Client) (host message, names, problems []string) {
	problem := func(format string, values ...any) { problems = append(problems, fmt.Sprintf(format, values...)) }
	policy := s.Service.TrafficPolicy()
	base := action{client: c, cluster: n.ClusterName(s.Name, s.Port), policy: policy.Balancer}
	var profile catalog.ServiceProfile
	if s.Profile == nil || s.Profile.Invalid {
		base.retry, base.timeout = policy.Retry, policy.Timeout
	} else {
		profile = *s.Profile
	}
	var err error
	if base.split, err = n.split(s, profile.DstOverrides); err != nil {
		problem("spec.dstOverrides: %v; all requests go to the Service", err)
	}
	names = []string{base.cluster}
	for _, w := range base.split {
		names = append(names, w.cluster)
	}
	host = virtualHost()
	made := 0
	for i := range profile.Routes {
		r := &profile.Routes[i]
		matches, err := alternatives(r.Condition, c)
		if err != nil {
			problem("spec.routes[%d] %s: %v, so the route is left out", i, sanitize.Name(r.Name), err)
			continue
		}
		if made += len(matches); made > maxRoutes {
			problem("spec.routes[%d]: there are more than %d routes, and the others are left out", i, maxRoutes)
			break
		}
		for _, match := range matches {
			host = host.route(match.encode(), base.of(r).encode())
		}
	}
	return host.route(all(), base.encode()), names, problems
}

// weighted is a Cluster that takes a share of the requests.
type weighted struct {
	cluster string
	weight  uint32
}

// split returns the Clusters of dstOverrides with their weights; none if all requests go to the
// Service.
func (n Namer) split(s Input, overrides []catalog.WeightedDst) ([]weighted, error) {
	var list []weighted
	sum := int64(0)
	for _, o := range overrides {
		if o.MilliWeight <= 0 {
			continue
		}
		if o.MilliWeight > math.MaxUint32-sum {
			return nil, fmt.Errorf("the sum of the weights is over %d thousandths", uint32(math.MaxUint32))
		}
		sum += o.MilliWeight
		name, err := n.Parse(Cluster, o.Authority, s.Name.Service.Namespace)
		if err != nil {
			return nil, err
		}
		port := s.Port
		if name.Port != "" {
			// A ServiceProfile names ports by number.
			if port = name.PortNumber(); port == 0 {
				return nil, fmt.Errorf("%s has no port number", sanitize.Quote(o.Authority))
			}
		}
		if !name.structured {
			name.structured, name.authority, name.Service.Cluster = s.Name.structured, s.Name.authority, s.Name.Service.Cluster
		}
		list = append(list, weighted{n.ClusterName(name, port), uint32(o.MilliWeight)})
	}
	return list, nil
}

// action is the action of a route.
type action struct {
	client  Client
	cluster string
	split   []weighted // instead of cluster, unless it is empty
	policy  catalog.Balancer
	retry   *catalog.RetryPolicy
	timeout time.Duration
}

// of returns the action of a route of a ServiceProfile.
func (a action) of(r *catalog.Route) action {
	a.timeout = max(r.Timeout, 0)
	if r.Retryable {
		a.retry = &catalog.RetryPolicy{On: retryableStatuses, Count: retryableCount}
	}
	return a
}

func (a action) encode() (m message) {
	if len(a.split) == 0 {
		m = m.text(1, a.cluster)
	} else {
		var clusters message
		for _, w := range a.split {
			clusters = clusters.nested(1, message{}.text(1, w.cluster).wrapped(2, w.weight))
		}
		m = m.nested(3, clusters)
	}
	switch {
	case a.client != Envoy:
	case a.timeout == 0:
		m = m.nested(8, nil) // without a timeout, Envoy has one of 15 s
	default:
		m = m.duration(8, a.timeout)
	}
	if r := a.retry; r != nil {
		retry := message{}.text(1, r.On).wrapped(2, r.Count)
		if r.Backoff != 0 {
			retry = retry.nested(8, message{}.duration(1, r.Backoff).duration(2, r.MaxBackoff))
		}
		m = m.nested(9, retry)
	}
	switch {
	case a.policy.Kind != catalog.RingHash:
	case a.policy.Header == "":
		m = m.nested(15, message{}.nested(6, message{}.text(1, channelID)))
	default:
		m = m.nested(15, message{}.nested(1, message{}.text(1, a.policy.Header)))
	}
	if a.client != Envoy && a.timeout > 0 {
		m = m.nested(36, message{}.duration(1, a.timeout))
	}
	return m
}

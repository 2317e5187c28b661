package whyserved

import (
	"context"
	"fmt"
	"slices"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/destination"
)

// maxPorts limits the explained ports of a Service, if the query has none.
const maxPorts = 10

// maxShown limits the lines below a step.
const maxShown = 12

// maxOverrides limits the explained overrides of a ServiceProfile.
const maxOverrides = 10

// Explainer implements [inspect.Explainer] for the role destination.
type Explainer struct {
	Catalog *catalog.Catalog
	Server  Server
	// Client reads objects on demand. Its responses must be [Bounded].
	Client kubernetes.Interface
	// IPv6 is as in [catalog.Query].
	IPv6 bool
	// Unreadable says since when and why a linked cluster can't be read, and is empty if it can; nil without
	// linked clusters.
	Unreadable func(cluster string) string
}

// Server provides the open calls and the responses to calls; [destination.Server] implements it.
// All verdicts come from the Server; the other facts are causes.
type Server interface {
	StreamsOfService(key catalog.ServiceKey, limit int) (some []destination.OpenStream, all int)
	FirstResponse(key catalog.ServiceKey, hostname string, port uint16) destination.FirstResponse
	FirstProfile(q catalog.ProfileQuery) destination.FirstProfile
	Overrides(p *pb.DestinationProfile) []destination.Override
	ServiceOfProfile(name string) (catalog.ServiceKey, bool)
}

// Explain implements [inspect.Explainer].
func (x *Explainer) Explain(ctx context.Context, q inspect.Query) []inspect.Step {
	switch {
	case q.Service != nil:
		return x.service(ctx, q.Service)
	case q.Address.Addr().IsValid():
		return x.address(ctx, q.Address)
	case q.Object != nil && q.Object.Namespace != "":
		return x.object(ctx, q.Object)
	default:
		return nil
	}
}

// object explains an object of a kind that this role reads.
func (x *Explainer) object(ctx context.Context, o *inspect.ObjectRef) []inspect.Step {
	switch {
	case o.Kind == string(catalog.Pod) || o.Kind == string(catalog.ExternalWorkload):
		return x.workload(ctx, o)
	case o.Kind == "ServiceProfile":
		return x.serviceProfile(o)
	case slices.Contains(podOwners, o.Kind):
		return ownerSteps(ctx, live{x.Client, o.Namespace}, o, x.service)
	default:
		return nil
	}
}

// facts has the state of a Service at one moment. An error says why a fact is unknown.
type facts struct {
	query   *inspect.ServiceQuery
	service *corev1.Service
	// serviceErr and the other errors are nil if their fact is known.
	serviceErr error
	// names are the Services of the namespace, and elsewhere the other namespaces that have a Service of
	// the name, to suggest one for a Service that is missing.
	names, elsewhere []string
	known            *catalog.Service
	ports            []portExplanation

	// matched are the pods that the selector selects. nearby are pods of the namespace, read if the
	// selector matches none.
	matched, nearby podList
	podsErr         error
	// workloads is the number of ExternalWorkloads that the selector selects.
	workloads   int
	slices      []discoveryv1.EndpointSlice
	slicesErr   error
	policies    []networkingv1.NetworkPolicy
	policiesErr error

	streams    []destination.OpenStream
	allStreams int
	// unreadable is that of the [Explainer].
	unreadable func(cluster string) string
}

// portExplanation has the responses to calls for a port, and their causes.
type portExplanation struct {
	port catalog.ServicePort
	// response is that of Get, and profile that of GetProfile by the name of the Service.
	response destination.FirstResponse
	profile  destination.FirstProfile
	// conflicts are the errors of GetProfile by a cluster IP.
	conflicts []error
	// overrides are the destinations that the profile sends the traffic to.
	overrides []override
	// explanation has the outcome of each endpoint of the slices.
	explanation catalog.Explanation
}

// readPods reads the pods that a selector selects, or, if there are none, the other pods of the namespace.
func (f *facts) readPods(ctx context.Context, from live, selector map[string]string) {
	if f.matched, f.podsErr = from.pods(ctx, selector); f.podsErr == nil && len(f.matched.pods) == 0 {
		f.nearby, f.podsErr = from.pods(ctx, nil)
	}
}

func (x *Explainer) service(ctx context.Context, q *inspect.ServiceQuery) []inspect.Step {
	return serviceSteps(x.gather(ctx, q))
}

// gather reads the facts of a Service, except those that an earlier fact makes useless.
func (x *Explainer) gather(ctx context.Context, q *inspect.ServiceQuery) *facts {
	f := &facts{query: q, unreadable: x.Unreadable}
	key := catalog.ServiceKey{Cluster: catalog.LocalCluster, Namespace: q.Namespace, Name: q.Name}
	f.known, _ = x.Catalog.FindService(key)
	from := live{x.Client, q.Namespace}
	if f.service, f.serviceErr = from.service(ctx, q.Name); f.service == nil && f.serviceErr == nil {
		f.names = x.Catalog.ServiceNames(q.Namespace)
		for _, s := range x.Catalog.ServiceList(func(k catalog.ServiceKey) bool { return k.Name == q.Name }) {
			f.elsewhere = append(f.elsewhere, s.Key.Namespace)
		}
		return f
	}
	f.ports = x.ports(key, f.known, q)
	f.streams, f.allStreams = x.Server.StreamsOfService(key, maxShown)
	if f.service == nil || f.service.Spec.Type == corev1.ServiceTypeExternalName {
		return f
	}
	f.slices, f.slicesErr = from.slices(ctx, q.Name)
	if selector := f.service.Spec.Selector; len(selector) > 0 {
		f.workloads = x.Catalog.CountExternalWorkloads(q.Namespace, selector)
		f.readPods(ctx, from, selector)
		if len(f.matched.pods) > 0 {
			f.policies, f.policiesErr = from.policies(ctx)
		}
	}
	return f
}

// ports explains the requested port, or the ports that the Service declares.
func (x *Explainer) ports(key catalog.ServiceKey, s *catalog.Service, q *inspect.ServiceQuery) []portExplanation {
	if s == nil {
		return nil
	}
	var all []portExplanation
	for _, p := range s.Ports {
		if q.WantsPort(p.Port, p.Name) && p.Protocol != catalog.UDP && len(all) < maxPorts {
			all = append(all, x.explainPort(key, s, q.Hostname, p))
		}
	}
	return all
}

func (x *Explainer) explainPort(key catalog.ServiceKey, s *catalog.Service, hostname string, p catalog.ServicePort) portExplanation {
	w := x.responses(key, s, hostname, p)
	w.explanation = x.Catalog.Explain(key, catalog.Query{Port: p.Port, Hostname: hostname, IPv6: x.IPv6})
	return w
}

// responses returns the responses to calls for a port, without their causes.
func (x *Explainer) responses(key catalog.ServiceKey, s *catalog.Service, hostname string, p catalog.ServicePort) portExplanation {
	w := portExplanation{port: p, response: x.Server.FirstResponse(key, hostname, p.Port)}
	if key.Cluster != catalog.LocalCluster {
		return w // proxies ask for no profile of a remote Service
	}
	w.profile = x.Server.FirstProfile(catalog.ProfileQuery{Service: key, Hostname: hostname, Port: p.Port})
	if hostname != "" {
		return w
	}
	for _, ip := range s.ClusterIPs {
		if err := x.Server.FirstProfile(catalog.ProfileQuery{IP: ip, Port: p.Port}).Refusal; err != nil {
			w.conflicts = append(w.conflicts, err)
		}
	}
	w.overrides = x.overrides(w.profile)
	return w
}

// stepf returns a step about an object, which may be nil.
func stepf(what string, state inspect.StepState, object *inspect.ObjectRef, format string, args ...any) inspect.Step {
	return inspect.Step{What: what, State: state, Text: fmt.Sprintf(format, args...), Object: object}
}

// unknown returns a step that says why a fact is unknown.
func unknown(what string, err error) inspect.Step {
	return inspect.Step{What: what, State: inspect.StepUnknown, Text: err.Error()}
}

package whyserved

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/destination"
	"github.com/signpostd/signpost/internal/inspect"
)

// maxPorts is how many ports of a Service are looked at when none is asked for.
const maxPorts = 10

// maxShown is how many lines are below a step.
const maxShown = 12

// Explainer implements [inspect.Explainer] for the role destination.
type Explainer struct {
	Catalog *catalog.Catalog
	Server  Streams
	// Client reads objects when they are asked about; its answers have to be [Bounded].
	Client kubernetes.Interface
	// IPv6 is as in [catalog.Query].
	IPv6 bool
}

// Streams are the open calls; a [destination.Server] has them.
type Streams interface {
	StreamsOfService(key catalog.ServiceKey, limit int) (some []destination.OpenStream, all int)
}

// Explain implements [inspect.Explainer].
func (x *Explainer) Explain(ctx context.Context, q inspect.Query) []inspect.Step {
	switch {
	case q.Service != nil:
		return x.service(ctx, q.Service)
	case q.Address.Addr().IsValid():
		return x.address(ctx, q.Address)
	case q.Object != nil && (q.Object.Kind == string(catalog.Pod) || q.Object.Kind == string(catalog.ExternalWorkload)) && q.Object.Namespace != "":
		return x.workload(ctx, q.Object)
	default:
		return nil
	}
}

// facts are what is known of a Service at one moment. An error says why something isn't known.
type facts struct {
	query   *inspect.ServiceQuery
	service *corev1.Service
	// serviceErr and the others are nil if what they are about is known.
	serviceErr error
	// names are the Services of the namespace, for a name that doesn't exist.
	names []string
	known *catalog.Service
	walks []portWalk

	// matched are the pods that the selector selects; nearby are pods of the namespace, read when
	// there is none.
	matched, nearby some
	podsErr         error
	// workloads is how many ExternalWorkloads the selector selects.
	workloads   int
	slices      []discoveryv1.EndpointSlice
	slicesErr   error
	policies    []networkingv1.NetworkPolicy
	policiesErr error

	streams    []destination.OpenStream
	allStreams int
}

// portWalk is how the answer for a port comes about.
type portWalk struct {
	port catalog.ServicePort
	walk catalog.Walk
}

func (x *Explainer) service(ctx context.Context, q *inspect.ServiceQuery) []inspect.Step {
	return serviceSteps(x.gather(ctx, q))
}

// gather reads what is needed for a Service, and nothing that an earlier answer makes useless.
func (x *Explainer) gather(ctx context.Context, q *inspect.ServiceQuery) *facts {
	f := &facts{query: q}
	key := catalog.ServiceKey{Cluster: catalog.LocalCluster, Namespace: q.Namespace, Name: q.Name}
	f.known, _ = x.Catalog.FindService(key)
	from := live{x.Client, q.Namespace}
	if f.service, f.serviceErr = from.service(ctx, q.Name); f.service == nil && f.serviceErr == nil {
		f.names = x.Catalog.ServiceNames(q.Namespace)
		return f
	}
	f.walks = x.walks(key, f.known, q)
	f.streams, f.allStreams = x.Server.StreamsOfService(key, maxShown)
	if f.service == nil || f.service.Spec.Type == corev1.ServiceTypeExternalName {
		return f
	}
	f.slices, f.slicesErr = from.slices(ctx, q.Name)
	if selector := f.service.Spec.Selector; len(selector) > 0 {
		f.workloads = x.Catalog.CountExternalWorkloads(q.Namespace, selector)
		if f.matched, f.podsErr = from.pods(ctx, selector); f.podsErr == nil && len(f.matched.pods) == 0 {
			f.nearby, f.podsErr = from.pods(ctx, nil)
		}
		if len(f.matched.pods) > 0 {
			f.policies, f.policiesErr = from.policies(ctx)
		}
	}
	return f
}

// walks goes the way for the port that is asked for, or for those that the Service declares.
func (x *Explainer) walks(key catalog.ServiceKey, s *catalog.Service, q *inspect.ServiceQuery) []portWalk {
	if s == nil {
		return nil
	}
	var all []portWalk
	for _, p := range s.Ports {
		if (q.Port == 0 || p.Port == q.Port) && p.Protocol != catalog.UDP && len(all) < maxPorts {
			all = append(all, portWalk{p, x.Catalog.Walk(key, catalog.Query{Port: p.Port, Hostname: q.Hostname, IPv6: x.IPv6})})
		}
	}
	return all
}

// step returns a step about an object.
func step(what string, state inspect.StepState, text string, object *inspect.ObjectRef) inspect.Step {
	return inspect.Step{What: what, State: state, Text: text, Object: object}
}

// unknown is a step that says why something isn't known.
func unknown(what string, err error) inspect.Step {
	return inspect.Step{What: what, State: inspect.StepUnknown, Text: err.Error()}
}

package source

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/signpostd/signpost/kube"
)

// Of returns a source with one own kind. evaluate returns the result for a selected, readable object.
// dependencies are the tables of other kinds. Run evaluates the objects that wait in [Reader].Waiting.
func Of[T any, P Keyed[T]](r *Reader, table *kube.Table[T], evaluate func(*T) Result, dependencies ...kube.AnyTable) Source {
	return Source{
		Tables: append([]kube.AnyTable{table}, dependencies...), Keys: Keys[T, P](table), Run: r.Waiting.Run,
		Evaluate: func(key Key) Result { return Evaluate[T, P](r, table, key, evaluate) },
	}
}

// Evaluate returns the result for an object of a table: why the object is excluded or unreadable, or else the
// result of evaluate.
func Evaluate[T any, P Keyed[T]](r *Reader, table *kube.Table[T], key Key, evaluate func(*T) Result) Result {
	value := table.Get(key.Namespace, key.Name)
	if value == nil {
		return Result{}
	}
	switch o := P(value).object(); {
	case !o.Selected:
		return o.Excluded()
	case o.Unreadable != "":
		return r.Result(o, nil, nil)
	}
	return evaluate(value)
}

// Custom returns the own kind of a source that decodes fields F of a custom resource. read copies the fields
// into kept. It is called for selected, readable objects only.
func Custom[F, T any, P Keyed[T]](r *Reader, name, plural string, read func(scope kube.Scope, kept *T, f *F, obj *unstructured.Unstructured)) kube.Kind[T] {
	return Untyped(name, r.subject.Kind.GroupVersion().WithResource(plural), func(scope kube.Scope, obj *unstructured.Unstructured) (*T, []kube.Problem) {
		kept, f := new(T), new(F)
		o := P(kept).object()
		if *o = r.ReadFields(scope, obj, f); o.Selected && o.Unreadable == "" {
			read(scope, kept, f, obj)
		}
		return kept, nil
	})
}

// Untyped returns the kind of a custom resource that has no Go type, and that the cluster may lack.
func Untyped[T any](name string, resource schema.GroupVersionResource, trim func(kube.Scope, *unstructured.Unstructured) (*T, []kube.Problem)) kube.Kind[T] {
	return kube.Kind[T]{Name: name, Resource: resource, Optional: true, Form: kube.Unstructured(), Trim: kube.TrimOf(trim)}
}

// Named is an object whose own fields contain its names and targets.
type Named struct {
	Object
	Found Found
}

// PublishNamed is [Reader.Publish] for such an object.
func (r *Reader) PublishNamed(o *Named) Result { return r.Publish(&o.Object, &o.Found) }

// OpenNamed opens a source of a custom resource whose names and targets are in fields F and in annotations.
func OpenNamed[F any](in Input, subject Subject, name, plural string, read func(found *Found, f *F)) Source {
	r := NewReader(in, subject)
	table := Custom(r, name, plural, func(_ kube.Scope, kept *Named, f *F, _ *unstructured.Unstructured) {
		read(&kept.Found, f)
		kept.Found.AddNames("hostname", r.Hosts(&kept.Object))
	}).Table(Notify[Named](in.Changed))
	return Of(r, table, r.PublishNamed)
}

// LoadBalancer is the field status.loadBalancer of custom resources.
type LoadBalancer struct {
	Ingress []BalancerAddress `json:"ingress"`
}

// BalancerAddress is an entry of a load balancer.
type BalancerAddress struct {
	IP       string `json:"ip"`
	Hostname string `json:"hostname"`
}

// Addresses returns the IP and the hostname of an entry, for [AddBalancer].
func (a BalancerAddress) Addresses() (ip, hostname string) { return a.IP, a.Hostname }

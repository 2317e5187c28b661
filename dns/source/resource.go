package source

import "k8s.io/apimachinery/pkg/runtime/schema"

// Resource is a kind of objects that a source lists and watches. RBAC rules, the documentation and
// the input of `signpost plan -f` are derived from it.
type Resource struct {
	// Kind is the kind of the objects. Its name is empty if the user has configured the resource only.
	Kind schema.GroupVersionKind
	// Plural is the name of the resource in URLs and RBAC rules, such as "httpproxies".
	Plural string
	Scope  Scope
	// Only are the namespaces for the scope InNamed.
	Only []string
	// Optional is true if the source also works in a cluster without the kind.
	Optional bool
	// Dependency is true for objects without records of their own, on which the records of others
	// depend.
	Dependency bool
	// Without says, as a clause without a full stop, what happens if objects that only some others
	// need ([Source].Awaited) can't be read. It is empty if the source then publishes nothing.
	Without string
	// More are additional rights to the objects.
	More []Right
}

// Scope says in which namespaces objects are read.
type Scope int

const (
	// InNamespaces means those of --namespace.
	InNamespaces Scope = iota
	// InAllNamespaces means all, whatever --namespace says.
	InAllNamespaces
	// InNamed means those of [Resource].Only, whatever --namespace says.
	InNamed
	// InNone is for cluster-scoped objects.
	InNone
)

// Right is a right to objects, beside list and watch.
type Right struct {
	// Subresource is a part of the object, such as "status"; empty means the object itself.
	Subresource string
	Verbs       []string
	// Why is its purpose, without a full stop.
	Why string
}

// In returns the namespaces in which the objects are read, given those of --namespace; nil means
// all.
func (r Resource) In(namespaces []string) []string {
	switch r.Scope {
	case InNamespaces:
		return namespaces
	case InNamed:
		return r.Only
	default:
		return nil
	}
}

// GroupResource returns the group and resource of the kind.
func (r Resource) GroupResource() schema.GroupResource {
	return schema.GroupResource{Group: r.Kind.Group, Resource: r.Plural}
}

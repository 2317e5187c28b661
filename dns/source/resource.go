package source

import "k8s.io/apimachinery/pkg/runtime/schema"

// Resource is a kind of objects that a source reads: it lists and watches them. Rights in the
// cluster, the documentation and what `signpost plan -f` reads are made of it.
type Resource struct {
	// Kind is the kind of the objects. Its name is empty when the user has named the resource
	// only, which doesn't tell it.
	Kind schema.GroupVersionKind
	// Plural is the name of the kind in URLs and in rights, such as "httpproxies".
	Plural string
	Scope  Scope
	// Only are the namespaces for the scope InNamed.
	Only []string
	// Optional is true when the source also works in a cluster that lacks the kind.
	Optional bool
	// Dependency is true for objects that no records are made of, but on which the records of
	// others depend.
	Dependency bool
	// Without says what happens if the objects can't be read, as a clause without a full stop. It is
	// empty if the source publishes nothing then: it is for what only some objects need
	// ([Source].Awaited).
	Without string
	// More is what else the source does with the objects.
	More []Right
}

// Scope says in which namespaces objects are read.
type Scope int

const (
	// InNamespaces is in those of --namespace.
	InNamespaces Scope = iota
	// InAllNamespaces is also in others than those of --namespace.
	InAllNamespaces
	// InNamed is in those of [Resource].Only, whatever --namespace says.
	InNamed
	// InNone is for objects that are in no namespace.
	InNone
)

// Right is a right to objects, beside those to list and to watch them.
type Right struct {
	// Subresource is the part of the object, such as "status"; empty for the object itself.
	Subresource string
	Verbs       []string
	// Why says what it is for, without a full stop.
	Why string
}

// In returns the namespaces in which the objects are read if --namespace has these; nil is all.
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

// GroupResource returns what the API server calls the kind.
func (r Resource) GroupResource() schema.GroupResource {
	return schema.GroupResource{Group: r.Kind.Group, Resource: r.Plural}
}

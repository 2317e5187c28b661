package kube

import (
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/signpostd/signpost/internal/objectmeta"
	"github.com/signpostd/signpost/internal/sanitize"
)

// Problem says that an object, or a part of it, can't be used. The rest of the object stays in use.
type Problem struct {
	// Field is the path of the field, such as "endpoints[3].addresses[0]"; empty for the whole object.
	Field string
	// Reason says what is wrong and what is allowed, in one sentence without a full stop.
	Reason string
}

// ProblemLimit is how many problems of one version of an object are reported. If there are more, one more
// [Problem] gives their number.
const ProblemLimit = 8

// The longest Field and Reason that are reported, in bytes. Both may quote the object.
const (
	fieldLimit  = 256
	reasonLimit = 1024
)

// Problems collects the problems of one version of an object, for a [Kind.Trim]. The zero Problems is empty.
type Problems struct {
	list []Problem
	more int
}

// Add adds a problem of a field. The path is a format for the indexes, and is formatted only for the first
// problems.
func (p *Problems) Add(reason, path string, indexes ...any) {
	if p.Full() {
		p.more++
		return
	}
	p.list = append(p.list, short(Problem{Field: fmt.Sprintf(path, indexes...), Reason: reason}))
}

// Full reports whether further problems are only counted, so that their reasons don't matter.
func (p *Problems) Full() bool { return len(p.list) == ProblemLimit }

// List returns the first problems and, if there are more, one that gives their number.
func (p *Problems) List() []Problem {
	if p.more == 0 {
		return p.list
	}
	return append(p.list[:ProblemLimit:ProblemLimit], andMore(p.more))
}

func andMore(n int) Problem {
	return Problem{Reason: fmt.Sprintf("and %d more problems; correct these first", n)}
}

// bounded returns the problems of one version of an object that are reported.
func bounded(list []Problem) []Problem {
	if len(list) > ProblemLimit+1 { // the last one may say how many more there are
		list = append(list[:ProblemLimit:ProblemLimit], andMore(len(list)-ProblemLimit))
	}
	list = slices.Clone(list)
	for i, p := range list {
		list[i] = short(p)
	}
	return list
}

func short(p Problem) Problem {
	return Problem{sanitize.Shorten(p.Field, fieldLimit), sanitize.Shorten(p.Reason, reasonLimit)}
}

// objectOf returns a problem of an object of a resource, without field and reason.
func objectOf(obj runtime.Object, r schema.GroupVersionResource) objectmeta.Problem {
	of := objectmeta.Problem{Kind: kindName(reflect.TypeOf(obj).Elem(), r)}
	// The kind in a typed object isn't reliable: in a list it may be anything.
	if _, loose := obj.(*unstructured.Unstructured); loose {
		of.Kind = obj.GetObjectKind().GroupVersionKind().Kind
	}
	if m, err := meta.Accessor(obj); err == nil {
		of.Namespace, of.Name, of.UID = m.GetNamespace(), m.GetName(), string(m.GetUID())
	}
	return of
}

// messageOf is objectOf for an object in protobuf, of a resource and a form.
func messageOf(f Form, r schema.GroupVersionResource, message []byte) objectmeta.Problem {
	var of objectmeta.Problem
	if item, err := f.item(); err == nil {
		of.Kind = kindName(item, r)
	}
	if m, err := readMetadata(message); err == nil {
		of.Namespace, of.Name, of.UID = string(m.namespace), string(m.name), string(m.uid)
	}
	return of
}

// metadataOnly is the Go type of objects that come with their metadata only, of any kind.
var metadataOnly = reflect.TypeFor[metav1.PartialObjectMetadata]()

// kindName returns the name of a kind from its Go type, because objects in protobuf don't carry it. For a
// metadata-only type it returns the name of the resource, such as "nodes".
func kindName(goType reflect.Type, r schema.GroupVersionResource) string {
	if goType == metadataOnly {
		return r.Resource
	}
	return goType.Name()
}

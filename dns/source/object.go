package source

import (
	"errors"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/kube"
)

// Subject describes an own kind of a source. A source with several own kinds has a [Reader] for
// each, and distinguishes objects by [Key].Kind.
type Subject struct {
	// Kind is that of the objects.
	Kind schema.GroupVersionKind
	// Label is the first part of the label resource, such as "ingress". If it is empty, records have
	// no such label (spec/dns.md §6.2).
	Label string
	// Names are the fields, beside annotations, that may name an object, such as "spec.rules". Targets
	// is the field with the targets, such as "status.loadBalancer"; empty if there is none. Both are used in
	// messages.
	Names   []string
	Targets string
	// NameFields are the fields with names of an object without a Go type, such as
	// "spec.servers.hosts": a path leads through lists. They tell which names an excluded object would
	// ask for.
	NameFields []string
	// NamedByAnnotation is true if only annotations, templates and --compatibility give a name.
	NamedByAnnotation bool
	// Conditions keeps status.conditions for templates.
	Conditions bool
}

// Reader reads the common parts of all objects of a source's own kind. It may be used from any
// goroutine.
type Reader struct {
	// Input is that of the source.
	Input
	// Templates are those of the settings that the source reads; nil if there are none.
	Templates *Templates
	// Waiting has the objects of the kind that refer to tables which have not been filled yet.
	Waiting *Waiting

	subject Subject
	// kind is that of the subject, in the form of keys.
	kind string
	// nameless is the skip of all excluded objects that ask for no name.
	nameless Skip
}

// NewReader returns a reader for a source.
func NewReader(in Input, subject Subject) *Reader {
	in.Settings = in.Settings.For(in.Plugin)
	r := &Reader{Input: in, Templates: in.Settings.Templates.For(in.Plugin), Waiting: NewWaiting(in.Changed), subject: subject, kind: subject.Kind.GroupKind().String()}
	r.nameless = r.NoHostname(&Object{})
	return r
}

// filteredNameless reports whether an excluded object asks for no name anyway, so that changing the
// filter would have no effect.
func (r *Reader) filteredNameless(excluded *Skip, annotations map[string]string) bool {
	if excluded != skipByAnnotations && excluded != skipByLabels || r.Templates.HasNames() || r.Settings.Compatibility != "" || !r.subject.NamedByAnnotation {
		return false
	}
	read := r.Settings.ReadAnnotations(annotations)
	return len(read.Hostnames)+len(read.InternalHostnames) == 0
}

// maxWanted limits the names that are kept of an excluded object, and maxWantedName their length.
const maxWanted, maxWantedName = 5, 253

// annotated returns the names in the annotations of an excluded object, up to the limits.
func (r *Reader) annotated(annotations map[string]string) []string {
	if r.Settings.IgnoreHostnameAnnotation || !r.Plugin.reads(AnnotationHostname) {
		return nil
	}
	return wantedOf(r.Settings.ReadAnnotations(annotations))
}

func wantedOf(a *Annotations) []string {
	if a == nil {
		return nil
	}
	return BoundedNames(slices.Concat(a.Hostnames, a.InternalHostnames))
}

// BoundedNames returns a few of the names, without those that are too long for DNS.
func BoundedNames(names []string) []string {
	var kept []string
	for _, name := range names {
		if name != "" && len(kept) < maxWanted && len(name) <= maxWantedName {
			kept = append(kept, strings.Clone(name))
		}
	}
	return kept
}

// Object is what every source keeps of its own objects. A source embeds it in a struct with the
// rest.
type Object struct {
	Key Key
	UID types.UID
	// Selected is false if the settings exclude the object. All other fields but Key are then empty,
	// except remarks in Annotations and the names that it would ask for. [Object.Excluded] says why.
	Selected bool
	// excluded is why the object isn't selected. wanted are the names that the object asks for.
	excluded *Skip
	wanted   []string
	// Annotations is not nil if Selected is true.
	Annotations *Annotations
	// Unreadable is why the fields of the object can't be read; empty if they can. An unreadable object asks
	// for nothing.
	Unreadable string
	// FullObject is the object, with its kind and API version, for templates; otherwise nil. It lacks large
	// and useless parts: managed fields, the annotation of kubectl apply, and status.conditions unless the
	// [Subject] keeps them.
	FullObject runtime.Object
}

// lastApplied is an annotation that is as large as the object and useless in templates.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// Read returns the common parts of an object, for the Trim of a [kube.Kind]. Without templates,
// only strings of the object are kept.
func (r *Reader) Read(s kube.Scope, obj interface {
	metav1.Object
	runtime.Object
},
) Object {
	key := Key{Kind: r.kind, Namespace: s.Intern(obj.GetNamespace()), Name: obj.GetName()}
	if excluded := r.Settings.excludes(obj); excluded != nil && (excluded.Reason != SkipOtherController || r.Plugin.reads(AnnotationController)) {
		if r.filteredNameless(excluded, obj.GetAnnotations()) {
			excluded = &r.nameless
		}
		return Object{Key: key, excluded: excluded, wanted: r.annotated(obj.GetAnnotations())}
	}
	read := Object{
		Key: key, UID: obj.GetUID(), Selected: true,
		Annotations: r.Settings.ReadAnnotations(obj.GetAnnotations()),
	}
	if r.Templates != nil {
		read.FullObject = r.fullObject(obj)
	}
	return read
}

// ReadFields is Read for an object without a Go type. It also fills the struct fields from the
// object, like [kube.Fields]. If the settings exclude the object, the struct stays empty.
func (r *Reader) ReadFields(s kube.Scope, obj *unstructured.Unstructured, fields any) Object {
	read := r.Read(s, obj)
	if !read.Selected {
		for _, field := range r.subject.NameFields {
			read.wantAt(obj.Object, strings.Split(field, "."))
		}
		return read
	}
	if err := kube.Fields(obj, fields); err != nil {
		read.Unreadable = err.Error()
	}
	return read
}

// fullObject returns a copy of an object for templates. The kind is added, because the API server omits it in
// lists.
func (r *Reader) fullObject(obj runtime.Object) runtime.Object {
	whole := obj.DeepCopyObject()
	whole.GetObjectKind().SetGroupVersionKind(r.subject.Kind)
	if m, ok := whole.(metav1.Object); ok && m.GetAnnotations()[lastApplied] != "" {
		annotations := m.GetAnnotations()
		delete(annotations, lastApplied)
		m.SetAnnotations(annotations)
	}
	if !r.subject.Conditions {
		dropConditions(whole)
	}
	return whole
}

// dropConditions removes status.conditions, which change all the time and never give a name.
func dropConditions(obj runtime.Object) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		unstructured.RemoveNestedField(u.Object, "status", "conditions")
		return
	}
	status := reflect.Indirect(reflect.ValueOf(obj)).FieldByName("Status")
	for status.Kind() == reflect.Pointer {
		status = status.Elem() // invalid for a nil pointer
	}
	if status.Kind() != reflect.Struct {
		return
	}
	if conditions := status.FieldByName("Conditions"); conditions.IsValid() {
		conditions.SetZero()
	}
}

// Ref returns the reference to an object for its records and problems.
func (r *Reader) Ref(o *Object) dns.Object {
	return dns.Object{
		APIVersion: r.subject.Kind.GroupVersion().String(), Kind: r.subject.Kind.Kind,
		Namespace: o.Key.Namespace, Name: o.Key.Name, UID: string(o.UID), Source: r.Plugin.Name,
	}
}

// Origin returns the common fields of all records of an object.
func (r *Reader) Origin(o *Object) Origin {
	origin := Origin{Object: r.Ref(o), TTL: o.Annotations.TTL}
	if r.subject.Label != "" {
		origin.Resource = r.subject.Label + "/" + o.Key.String()
	}
	if r.Plugin.Properties {
		origin.SetIdentifier, origin.Properties = o.Annotations.SetIdentifier, o.Annotations.Properties
	}
	return origin
}

// Hosts returns the names of an object without templates: those of the given fields, and those of
// its annotation, unless the source or the settings ignore that. [Found] drops empty ones.
func (r *Reader) Hosts(o *Object, fields ...string) []string {
	if r.Settings.IgnoreHostnameAnnotation || !r.Plugin.reads(AnnotationHostname) {
		return fields
	}
	return slices.Concat(fields, o.Annotations.Hostnames)
}

// Result returns the result of evaluating an object, with merged records and the problems of its
// annotations. If the object is unreadable, the result is that error.
func (r *Reader) Result(o *Object, records []*dns.RecordSet, err error) Result {
	if o.Unreadable != "" {
		err = errors.New(o.Unreadable)
	}
	result := Result{Err: err}
	if err == nil && len(records) > 0 {
		result.Records = dns.Merge(records)
	}
	for _, p := range o.Annotations.Problems {
		p.Object = r.Ref(o)
		result.Problems = append(result.Problems, p)
	}
	result.Skipped = slices.Clone(o.Annotations.Remarks)
	return result
}

// String returns "namespace/name", or the name alone, without the kind.
func (k Key) String() string {
	if k.Namespace == "" {
		return k.Name
	}
	return k.Namespace + "/" + k.Name
}

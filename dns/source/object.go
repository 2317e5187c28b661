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

// Subject describes the own kind of a source. A source with several kinds of its own has a
// [Reader] for each, and tells them apart by [Key].Kind.
type Subject struct {
	// Source is the name of the source.
	Source string
	// Kind is that of the objects.
	Kind schema.GroupVersionKind
	// Label is the first part of the label resource, such as "ingress". Without it, records
	// have no such label (spec/dns.md §6.2).
	Label string
	// Properties is true when the annotations for providers are read, and the set identifier.
	Properties bool
	// TargetTemplates is true when --target-template is read.
	TargetTemplates bool
	// Names are the places of an object, besides its annotations, that may give it a name, such as
	// "spec.rules"; Targets is the one that gives the targets, such as "status.loadBalancer", if
	// there is no annotation target. Messages have them.
	Names   []string
	Targets string
	// NameFields are the fields with names of an object without a Go type, such as "spec.servers.hosts": a path leads
	// through lists. They say which names an excluded object would have asked for.
	NameFields []string
	// NamedByAnnotation is true when only annotations, templates and --compatibility give a name.
	NamedByAnnotation bool
	// PairTemplates is true when --fqdn-target-template is read.
	PairTemplates bool
	// Conditions is true when templates may look at status.conditions.
	Conditions bool
	// AnyNamespace is true when --namespace doesn't apply.
	AnyNamespace bool
	// AnyController is true when the annotation controller doesn't matter.
	AnyController bool
}

// Reader reads what all objects of a source's own kind have in common. It may be used from any
// goroutine.
type Reader struct {
	// Templates are the templates of the settings, for this source; nil when there are none.
	Templates *Templates

	settings Settings
	subject  Subject
	// kind is that of the subject, as keys have it.
	kind string
	// nameless is the skip of all objects that a filter excludes and that ask for no name.
	nameless Skip
}

// NewReader returns a reader for a source.
func NewReader(settings Settings, subject Subject) *Reader {
	if subject.AnyNamespace {
		settings.Namespaces = nil
	}
	templates := settings.Templates.For(subject.Source)
	if !subject.TargetTemplates {
		templates = templates.withoutTargets()
	}
	r := &Reader{Templates: templates, settings: settings, subject: subject, kind: subject.Kind.GroupKind().String()}
	r.nameless = r.NoHostname(&Object{})
	return r
}

// filteredNameless reports whether a filter excludes an object that asks for no name anyway: nobody
// has to change the filter for it.
func (r *Reader) filteredNameless(excluded *Skip, annotations map[string]string) bool {
	if excluded != skipByAnnotations && excluded != skipByLabels || len(r.subject.Names) > 0 || r.Templates.HasNames() || r.settings.Compatibility != "" || !r.subject.NamedByAnnotation {
		return false
	}
	read := r.settings.ReadAnnotations(annotations)
	return len(read.Hostnames)+len(read.InternalHostnames) == 0
}

// maxWanted is how many names of an excluded object are kept, and maxWantedName how long each may be.
const maxWanted, maxWantedName = 5, 253

// annotated returns the names that annotations give an object, as far as an excluded one keeps them.
func (r *Reader) annotated(annotations map[string]string) []string {
	if r.settings.IgnoreHostnameAnnotation {
		return nil
	}
	return wantedOf(r.settings.ReadAnnotations(annotations))
}

func wantedOf(a *Annotations) []string {
	if a == nil {
		return nil
	}
	return boundedNames(slices.Concat(a.Hostnames, a.InternalHostnames))
}

func boundedNames(names []string) []string {
	var kept []string
	for _, name := range names {
		if name != "" && len(kept) < maxWanted && len(name) <= maxWantedName {
			kept = append(kept, strings.Clone(name))
		}
	}
	return kept
}

// Object is what every source keeps of the objects of its own kind. A source embeds it in a
// struct with the rest.
type Object struct {
	Key Key
	UID types.UID
	// Selected is false when the settings exclude the object. Then the object asks for
	// nothing, and all other fields but Key are empty, apart from remarks in Annotations and names that
	// it would ask for.
	// [Object.Excluded] says why.
	Selected bool
	// excluded says why the object isn't selected, and wanted are the names that it asks for all the same.
	excluded *Skip
	wanted   []string
	// Annotations is not nil when Selected is true.
	Annotations *Annotations
	// Unreadable says why the fields of the object can't be read. It is empty if they can. An
	// unreadable object asks for nothing.
	Unreadable string
	// Whole is the object with its kind and API version, when templates need it; otherwise nil.
	// It lacks what is large and of no use to them: status.conditions unless the [Subject] keeps
	// them, managed fields and the annotation of kubectl apply.
	Whole runtime.Object
}

// lastApplied is an annotation that is as large as the object and useless in templates.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// Read returns what is kept of an object. It is for the Trim of a [kube.Kind]. Without
// templates, only strings of the object are kept.
func (r *Reader) Read(s kube.Scope, obj interface {
	metav1.Object
	runtime.Object
},
) Object {
	key := Key{Kind: r.kind, Namespace: s.Intern(obj.GetNamespace()), Name: obj.GetName()}
	if excluded := r.settings.excludes(obj); excluded != nil && (excluded.Reason != SkipOtherController || !r.subject.AnyController) {
		if r.filteredNameless(excluded, obj.GetAnnotations()) {
			excluded = &r.nameless
		}
		return Object{Key: key, excluded: excluded, wanted: r.annotated(obj.GetAnnotations())}
	}
	read := Object{
		Key: key, UID: obj.GetUID(), Selected: true,
		Annotations: r.settings.ReadAnnotations(obj.GetAnnotations()),
	}
	if r.Templates != nil {
		read.Whole = r.whole(obj)
	}
	return read
}

// ReadFields is Read for an object of a kind without a Go type. It also fills the struct
// fields from the object, as [kube.Fields] does. If the settings exclude the object, the
// struct stays empty.
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

// whole returns what templates may look at of an object: a copy. The API server leaves out
// the kind of each object.
func (r *Reader) whole(obj runtime.Object) runtime.Object {
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

// dropConditions takes status.conditions out of an object: each has a sentence and two times,
// which change all the time, and no name is made of them.
func dropConditions(obj runtime.Object) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		unstructured.RemoveNestedField(u.Object, "status", "conditions")
		return
	}
	status := reflect.Indirect(reflect.ValueOf(obj)).FieldByName("Status")
	for status.Kind() == reflect.Pointer {
		status = status.Elem() // of nil it is no value
	}
	if status.Kind() != reflect.Struct {
		return
	}
	if conditions := status.FieldByName("Conditions"); conditions.IsValid() {
		conditions.SetZero()
	}
}

// Ref returns the reference to an object that its records and problems have.
func (r *Reader) Ref(o *Object) dns.Object {
	return dns.Object{
		APIVersion: r.subject.Kind.GroupVersion().String(), Kind: r.subject.Kind.Kind,
		Namespace: o.Key.Namespace, Name: o.Key.Name, UID: string(o.UID), Source: r.subject.Source,
	}
}

// Origin returns what all records of an object have in common.
func (r *Reader) Origin(o *Object) Origin {
	origin := Origin{Object: r.Ref(o), TTL: o.Annotations.TTL}
	if r.subject.Label != "" {
		origin.Resource = r.subject.Label + "/" + o.Key.String()
	}
	if r.subject.Properties {
		origin.SetIdentifier, origin.Properties = o.Annotations.SetIdentifier, o.Annotations.Properties
	}
	return origin
}

// Hosts returns the names that an object asks for without templates: those of the given fields, and
// those of its annotation, unless the settings ignore that. [Found] leaves out empty ones.
func (r *Reader) Hosts(o *Object, fields ...string) []string {
	if r.settings.IgnoreHostnameAnnotation {
		return fields
	}
	return slices.Concat(fields, o.Annotations.Hostnames)
}

// Result returns the result of evaluating an object, with merged records and the problems of
// its annotations. If the object is unreadable, that is the error.
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

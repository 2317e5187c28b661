package source

import (
	"fmt"
	"slices"
	"text/template/parse"

	template "github.com/DataDog/datadog-agent/pkg/template/text"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// methodFunction is the function that [withMethods] calls instead of a method.
const methodFunction = "method"

// methods are the methods that templates can call. The template engine itself calls none: calls by
// any name would keep all methods of all types in the binary, a third of its size
// (docs/performance/build.md).
var methods = map[string]func(of any) (any, bool){
	"GetName":         ofMeta(metav1.Object.GetName),
	"GetGenerateName": ofMeta(metav1.Object.GetGenerateName),
	"GetNamespace":    ofMeta(metav1.Object.GetNamespace),
	"GetLabels":       ofMeta(metav1.Object.GetLabels),
	"GetAnnotations":  ofMeta(metav1.Object.GetAnnotations),
	"GetUID":          ofMeta(metav1.Object.GetUID),
	"GetGeneration":   ofMeta(metav1.Object.GetGeneration),
	"GetKind":         ofObject(func(o runtime.Object) string { return o.GetObjectKind().GroupVersionKind().Kind }),
	"GetAPIVersion":   ofObject(func(o runtime.Object) string { return o.GetObjectKind().GroupVersionKind().GroupVersion().String() }),
	"String":          text,
}

func ofMeta[T any](get func(metav1.Object) T) func(any) (any, bool) {
	return func(of any) (any, bool) {
		if part, ok := of.(metav1.ObjectMeta); ok {
			of = &part
		}
		m, ok := of.(metav1.Object)
		if !ok {
			return nil, false
		}
		return get(m), true
	}
}

func ofObject(get func(runtime.Object) string) func(any) (any, bool) {
	return func(of any) (any, bool) {
		o, ok := of.(runtime.Object)
		if !ok {
			return nil, false
		}
		return get(o), true
	}
}

// text is the method String of a value. Of the types with a pointer receiver, only the first two
// occur in fields of objects.
func text(of any) (any, bool) {
	switch v := of.(type) {
	case intstr.IntOrString:
		return v.String(), true
	case resource.Quantity:
		return v.String(), true
	case fmt.Stringer:
		return v.String(), true
	default:
		return nil, false
	}
}

var methodFunctions = template.FuncMap{
	methodFunction: func(of any, name string) (any, error) {
		if value, ok := key(of, name); ok {
			return value, nil
		}
		value, ok := methods[name](of)
		if !ok {
			return nil, fmt.Errorf("a %T has no method %s", of, name)
		}
		return value, nil
	},
}

// key returns the value of a key with the name of a method, if of is a map; nil if the key is
// missing.
func key(of any, name string) (value any, isMap bool) {
	switch fields := of.(type) {
	case map[string]any:
		return fields[name], true
	case map[string]string:
		if text, ok := fields[name]; ok {
			return text, true
		}
		return nil, true
	default:
		return nil, false
	}
}

// withMethods returns a copy of a template that calls methods through a function.
func withMethods(t *template.Template) (*template.Template, error) {
	replace := func(node parse.Node, _ string, of parse.Node, path []string) parse.Node {
		return callMethods(node, of, path)
	}
	return rewritten(t, methodFunctions, speller{replace: replace})
}

// callMethods returns the expression of the fields and methods path of a node, or plain if none of
// them is a method.
func callMethods(plain, of parse.Node, path []string) parse.Node {
	at := slices.IndexFunc(path, func(name string) bool { return methods[name] != nil })
	if at < 0 {
		return plain
	}
	result, rest := call(methodFunction, chain(of, path[:at]), path[at:at+1]), path[at+1:]
	return callMethods(chain(result, rest), result, rest)
}

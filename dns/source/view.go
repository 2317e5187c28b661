package source

import (
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// viewOf returns an object for templates that can't use its Go type: the fields of JSON, those of
// metadata, and the names of spec/dns.md §6.11. [member] looks up fields in it.
func viewOf(obj runtime.Object) (map[string]any, error) {
	content, err := contentOf(obj)
	if err != nil {
		return nil, err
	}
	u := unstructured.Unstructured{Object: content}
	metadata := fieldsOf(content["metadata"])
	view := maps.Clone(metadata)
	maps.Copy(view, content)
	maps.Copy(view, map[string]any{
		"Name": u.GetName(), "Namespace": u.GetNamespace(), "Kind": u.GetKind(), "APIVersion": u.GetAPIVersion(),
		"Labels": u.GetLabels(), "Annotations": u.GetAnnotations(), "ObjectMeta": metadata,
		"Spec": fieldsOf(content["spec"]), "Status": fieldsOf(content["status"]),
		"Object": content,
	})
	return view, nil
}

func contentOf(obj runtime.Object) (map[string]any, error) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return u.Object, nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, fmt.Errorf("convert a %T: %w", obj, err)
	}
	return content, nil
}

// fieldsOf returns a part of an object, or an empty map if the part isn't an object.
func fieldsOf(part any) map[string]any {
	if fields, ok := part.(map[string]any); ok {
		return fields
	}
	return map[string]any{}
}

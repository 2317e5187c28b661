package source

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// viewOf returns an object for templates that can't use its Go type: metadata, spec and status
// under their keys in JSON, and also under their names in Go (spec/dns.md §6.11).
func viewOf(obj runtime.Object) (map[string]any, error) {
	content, err := contentOf(obj)
	if err != nil {
		return nil, err
	}
	u := unstructured.Unstructured{Object: content}
	metadata, _, _ := unstructured.NestedMap(content, "metadata")
	return map[string]any{
		"Name": u.GetName(), "Namespace": u.GetNamespace(), "Kind": u.GetKind(), "APIVersion": u.GetAPIVersion(),
		"Labels": u.GetLabels(), "Annotations": u.GetAnnotations(),
		"Metadata": metadata, "Spec": withGoNames(content["spec"]), "Status": withGoNames(content["status"]),
		"Object": content,
	}, nil
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

// withGoNames returns a map in which each value is also found under the name that Go has for
// the key, unless that is a key already. For anything but a map it returns an empty one.
func withGoNames(part any) map[string]any {
	fields, _ := part.(map[string]any)
	named := make(map[string]any, 3*len(fields))
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		named[capitalized(key)] = fields[key]
		named[goName(key)] = fields[key]
	}
	maps.Copy(named, fields)
	return named
}

// initialisms are words that Go writes in upper case.
var initialisms = []string{
	"acl", "api", "ascii", "cpu", "css", "dns", "eof", "guid", "html", "http", "https", "id", "ip", "json", "qps", "ram", "rpc",
	"sla", "smtp", "sql", "ssh", "tcp", "tls", "ttl", "udp", "ui", "uid", "uri", "url", "utf8", "uuid", "vm", "xml",
}

// goName returns the name in Go of a field that is called key in JSON: dnsNames is DNSNames.
func goName(key string) string {
	var name strings.Builder
	for _, word := range words(key) {
		if slices.Contains(initialisms, strings.ToLower(word)) {
			name.WriteString(strings.ToUpper(word))
		} else {
			name.WriteString(capitalized(word))
		}
	}
	return name.String()
}

func capitalized(word string) string {
	first, size := utf8.DecodeRuneInString(word)
	return string(unicode.ToUpper(first)) + word[size:]
}

// words splits a name before its upper-case letters.
func words(name string) []string {
	var list []string
	begin := 0
	for i, r := range name {
		if i > begin && unicode.IsUpper(r) {
			list, begin = append(list, name[begin:i]), i
		}
	}
	if begin < len(name) {
		list = append(list, name[begin:])
	}
	return list
}

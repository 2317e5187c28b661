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

// viewOf returns an object as templates see it for which the object's Go type won't do:
// spec and status with the keys of JSON, and on top with the names of Go (spec/dns.md §6.11).
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

// withGoNames returns a map in which each key can be had by the name that Go would give
// it, too, unless there is a key of that name. What is no map is as good as an empty one.
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

// initialisms are the words that Go writes in capitals.
var initialisms = []string{
	"acl", "api", "ascii", "cpu", "css", "dns", "eof", "guid", "html", "http", "https", "id", "ip", "json", "qps", "ram", "rpc",
	"sla", "smtp", "sql", "ssh", "tcp", "tls", "ttl", "udp", "ui", "uid", "uri", "url", "utf8", "uuid", "vm", "xml",
}

// goName returns the name of a field that JSON calls key: dnsNames is DNSNames.
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

// words splits a name before its capital letters.
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

package witness

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/signpostd/signpost/dev/lab/history"
)

// prefix is the prefix of all keys (--etcd-prefix of kube-apiserver).
const prefix = "/registry/"

// builtin maps the path of a recorded kind of Kubernetes to its resource.
var builtin = map[string]string{
	"endpointslices":     "endpointslices",
	"leases":             "leases",
	"minions":            "nodes",
	"namespaces":         "namespaces",
	"pods":               "pods",
	"services/endpoints": "endpoints",
	"services/specs":     "services",
}

// magic is the prefix of a value of a built-in kind, which is protobuf. Values of custom resources are JSON.
var magic = []byte("k8s\x00")

// stored decides which objects are recorded.
type stored struct{ namespaces []string }

func newStored(namespaces []string) stored { return stored{slices.Clone(namespaces)} }

// object returns the object of a key without its content, and whether it is recorded. Recorded are objects of
// the builtin kinds and custom resources in one of the namespaces, the nodes, and the namespaces themselves.
func (s stored) object(key string) (o history.Object, recorded bool) {
	path, found := strings.CutPrefix(key, prefix)
	if !found {
		return o, false
	}
	parts := strings.Split(path, "/")
	o.Name = parts[len(parts)-1]
	switch kind := parts[0]; {
	case len(parts) == 2 && kind == "minions":
		o.Resource = builtin[kind]
		return o, true
	case len(parts) == 2 && kind == "namespaces":
		o.Resource = builtin[kind]
		return o, slices.Contains(s.namespaces, o.Name)
	case len(parts) == 3:
		o.Resource = builtin[kind]
	case len(parts) == 4 && strings.Contains(kind, "."): // GROUP/RESOURCE/NAMESPACE/NAME
		o.Resource = parts[1]
	case len(parts) == 4:
		o.Resource = builtin[kind+"/"+parts[1]]
	}
	if len(parts) > 2 {
		o.Namespace = parts[len(parts)-2]
	}
	return o, o.Resource != "" && slices.Contains(s.namespaces, o.Namespace)
}

// content returns a stored value as JSON, without managed fields.
func content(value []byte) (json.RawMessage, error) {
	if bytes.HasPrefix(value, magic) {
		return builtinContent(value)
	}
	var object map[string]any
	values := json.NewDecoder(bytes.NewReader(value))
	values.UseNumber()
	if err := values.Decode(&object); err != nil {
		return nil, err
	}
	if metadata, ok := object["metadata"].(map[string]any); ok {
		delete(metadata, "managedFields")
	}
	return json.Marshal(object)
}

// builtinContent adds the kind, which the values lack.
func builtinContent(value []byte) (json.RawMessage, error) {
	object, kind, err := scheme.Codecs.UniversalDeserializer().Decode(value, nil, nil)
	if err != nil {
		return nil, err
	}
	object.GetObjectKind().SetGroupVersionKind(*kind)
	metadata, err := meta.Accessor(object)
	if err != nil {
		return nil, fmt.Errorf("it is %s: %w", kind, err)
	}
	metadata.SetManagedFields(nil)
	return json.Marshal(object)
}

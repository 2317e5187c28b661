package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/signpostd/signpost/api/linkerd"
	"github.com/signpostd/signpost/api/policy"
	workloads "github.com/signpostd/signpost/api/workload"
	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/objectmeta"
	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/kube/kinds"
)

// manifest is one YAML document, with its text as JSON.
type manifest struct {
	objectName
	text []byte
}

// objectName names an object of any kind. The namespace is empty for a Node.
type objectName struct {
	kind            objectKind
	namespace, name string
}

func (n objectName) String() string { return n.kind.name + " " + n.namespace + "/" + n.name }

// id returns the ID of the object in the catalog. It trims an object of this name to find out.
func (n objectName) id() (catalog.ID, error) {
	object := map[string]any{"metadata": map[string]any{"namespace": n.namespace, "name": n.name}}
	if n.kind.name == "ExternalWorkload" { // without an identity it is refused
		object["spec"] = map[string]any{"meshTLS": map[string]any{"identity": "x", "serverName": "x"}}
	}
	text, err := json.Marshal(object)
	if err != nil {
		return catalog.ID{}, err
	}
	trimmed, _, err := n.kind.trim(text)
	if err != nil {
		return catalog.ID{}, err
	}
	return trimmed.ID(), nil
}

// objectKind says how objects of a kind are read.
type objectKind struct {
	name     string
	resource schema.GroupVersionResource
	global   bool
	// trim decodes an object and returns what is kept of it; nil if nothing is.
	trim func(text []byte) (catalog.Object, []objectmeta.Problem, error)
}

// readWith reports whether the kind is read under that setting.
func (k objectKind) readWith(from kinds.EndpointsFrom) bool {
	switch k.name {
	case "EndpointSlice":
		return from == kinds.FromEndpointSlices
	case "Endpoints":
		return from == kinds.FromEndpoints
	default:
		return true
	}
}

// objectKinds are all kinds that scenarios may use.
var objectKinds = []objectKind{
	kindFrom("Service", kinds.Services(), &corev1.Service{}),
	kindFrom("EndpointSlice", kinds.EndpointSlices(), &discoveryv1.EndpointSlice{}),
	//lint:ignore SA1019 Endpoints are deprecated, and still served.
	kindFrom("Endpoints", kinds.Endpoints(), &corev1.Endpoints{}),
	kindFrom("Pod", kinds.Pods(), &corev1.Pod{}),
	kindFrom("Node", kinds.Nodes(), &metav1.PartialObjectMetadata{}),
	kindFrom("ReplicaSet", kinds.ReplicaSets(), &metav1.PartialObjectMetadata{}),
	kindFrom("Job", kinds.Jobs(), &metav1.PartialObjectMetadata{}),
	kindFrom("ExternalWorkload", kinds.ExternalWorkloads(), &workloads.ExternalWorkload{}),
	kindFrom("Server", kinds.Servers(), &policy.Server{}),
	kindFrom("ServiceProfile", kinds.ServiceProfiles(), &linkerd.ServiceProfile{}),
}

func kindFrom[T any, P interface {
	*T
	catalog.Object
}](name string, k kube.Kind[T], empty runtime.Object) objectKind {
	// Strict decoding would refuse the other fields of a kind that is read as metadata only.
	_, metadataOnly := empty.(*metav1.PartialObjectMetadata)
	decode := func(text []byte, into any) error { return yaml.UnmarshalStrict(text, into) }
	if metadataOnly {
		decode = json.Unmarshal
	}
	return objectKind{name: name, resource: k.Resource, global: name == "Node", trim: func(text []byte) (catalog.Object, []objectmeta.Problem, error) {
		read := empty.DeepCopyObject()
		if err := decode(text, read); err != nil {
			return nil, nil, err
		}
		kept, problems := k.Trim(kube.Scope{Cluster: catalog.LocalCluster}, read)
		if kept == nil {
			return nil, problemsOf(name, read, problems), nil
		}
		return P(kept), problemsOf(name, read, problems), nil
	}}
}

// problemsOf returns the problems of an object as a cluster reports them.
func problemsOf(kind string, read runtime.Object, problems []kube.Problem) (reported []objectmeta.Problem) {
	m := read.(metav1.Object)
	for _, p := range problems {
		reported = append(reported, objectmeta.Problem{
			Kind: kind, Namespace: m.GetNamespace(), Name: m.GetName(), UID: string(m.GetUID()), Field: p.Field, Reason: p.Reason,
		})
	}
	return reported
}

func kindNamed(name string) (objectKind, error) {
	for _, k := range objectKinds {
		if k.name == name {
			return k, nil
		}
	}
	return objectKind{}, fmt.Errorf("kind %q is none that scenarios may use", name)
}

// manifestsOf reads YAML documents.
func manifestsOf(text, namespace string) ([]manifest, error) {
	documents := kyaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	var all []manifest
	for {
		object := &unstructured.Unstructured{}
		err := documents.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", len(all)+1, err)
		}
		kind, err := kindNamed(object.GetKind())
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", len(all)+1, err)
		}
		if object.GetNamespace() == "" && !kind.global {
			object.SetNamespace(namespace)
		}
		m := manifest{objectName: objectName{kind, object.GetNamespace(), object.GetName()}}
		if m.text, err = json.Marshal(object.Object); err != nil {
			return nil, fmt.Errorf("document %d: %w", len(all)+1, err)
		}
		all = append(all, m)
	}
}

// namesOf reads lines of KIND NAME or KIND NAMESPACE/NAME.
func namesOf(text, namespace string) ([]objectName, error) {
	var all []objectName
	for line := range strings.Lines(text) {
		kindName, path, _ := strings.Cut(strings.TrimSpace(line), " ")
		kind, err := kindNamed(kindName)
		if err != nil {
			return nil, err
		}
		n := objectName{kind, namespace, path}
		if before, after, ok := strings.Cut(path, "/"); ok {
			n.namespace, n.name = before, after
		}
		if kind.global {
			n.namespace = ""
		}
		all = append(all, n)
	}
	return all, nil
}

// apply puts what is kept of objects into the catalog, one after the other.
func (p *player) apply(t *testing.T, objects []manifest) {
	t.Helper()
	for _, o := range objects {
		p.there[o.String()] = true
		object, problems, err := o.kind.trim(o.text)
		if err != nil {
			t.Fatalf("%v: %v", o, err)
		}
		if !o.kind.readWith(p.from) {
			continue
		}
		for _, problem := range problems {
			p.report(problem)
		}
		if object != nil {
			p.catalog.Put(object)
			settle()
		}
	}
}

// remove removes objects from the catalog, one after the other.
func (p *player) remove(t *testing.T, objects []objectName) {
	t.Helper()
	for _, o := range objects {
		id, err := o.id()
		if err != nil || !p.there[o.String()] {
			t.Fatalf("delete %v, which is there: %v: %v", o, p.there[o.String()], err)
		}
		delete(p.there, o.String())
		if o.kind.readWith(p.from) {
			p.catalog.Delete(id)
			settle()
		}
	}
}

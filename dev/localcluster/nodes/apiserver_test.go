package nodes

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"strconv"
	"strings"
	"sync"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// object is a Kubernetes object as JSON has it.
type object = map[string]any

// apiServer is a fake API server with what a simulated node needs: it stores objects under their
// paths, counts resource versions, refuses writes with an old one, merges patches with the code of
// the real one, and keeps the status apart from the rest. A hook runs after each request.
type apiServer struct {
	*testing.T
	client kubernetes.Interface

	mu      sync.Mutex
	version int
	objects map[string]object
	refused map[string]bool // paths that answer every request with 403
	// answered runs after each request, before its response is sent. What it writes makes the response
	// out of date.
	answered func(method, path string, code int)
}

func newAPIServer(t *testing.T) *apiServer {
	t.Helper()
	a := &apiServer{T: t, objects: map[string]object{}, refused: map[string]bool{}, answered: func(string, string, int) {}}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	client, err := kubernetes.NewForConfig(&rest.Config{
		Host: server.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeJSON},
	})
	if err != nil {
		t.Fatal(err)
	}
	a.client = client
	return a
}

// simulator returns one with count nodes that talks to this server.
func (a *apiServer) simulator(count int) *Simulator {
	return New(Options{Client: a.client, Count: count, Log: slog.New(slog.DiscardHandler)})
}

// put stores obj as another client would, under the next resource version.
func (a *apiServer) put(path string, obj object) {
	a.version++
	metadata, _ := obj["metadata"].(object)
	metadata = maps.Clone(metadata)
	metadata["resourceVersion"] = strconv.Itoa(a.version)
	obj = maps.Clone(obj)
	obj["metadata"] = metadata
	a.objects[path] = obj
}

// store is put for a typed object, before the test begins.
func (a *apiServer) store(path string, typed any) {
	a.Helper()
	var obj object
	if err := json.Unmarshal(a.encode(typed), &obj); err != nil {
		a.Fatal(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.put(path, obj)
}

func (a *apiServer) encode(obj any) []byte {
	raw, err := json.Marshal(obj)
	if err != nil {
		a.Errorf("encode %v: %v", obj, err)
	}
	return raw
}

// load fills typed with the stored object.
func (a *apiServer) load(path string, typed any) {
	a.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := json.Unmarshal(a.encode(a.objects[path]), typed); err != nil {
		a.Fatal(err)
	}
}

// ServeHTTP answers one request.
func (a *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	target, isStatus := strings.CutSuffix(r.URL.Path, "/status")
	code := http.StatusOK
	answer, err := a.serve(r, target, isStatus)
	raw := a.encode(answer)
	if err != nil {
		status := err.Status()
		status.Kind, status.APIVersion = "Status", "v1"
		code, raw = int(status.Code), a.encode(status)
	}
	a.answered(r.Method, target, code)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(raw)
}

func (a *apiServer) serve(r *http.Request, target string, isStatus bool) (object, *apierrors.StatusError) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	if r.Method == http.MethodPost {
		return a.create(target, body)
	}
	resource := schema.GroupResource{Resource: path.Base(path.Dir(target))}
	name := path.Base(target)
	have, exists := a.objects[target]
	if a.refused[target] {
		return nil, apierrors.NewForbidden(resource, name, fmt.Errorf("by the test"))
	}
	if !exists {
		return nil, apierrors.NewNotFound(resource, name)
	}
	var want object
	switch r.Method {
	case http.MethodGet:
		return have, nil
	case http.MethodPut:
		err = json.Unmarshal(body, &want)
	case http.MethodPatch:
		want, err = merge(have, body, r.Header.Get("Content-Type"), resource.Resource)
	default:
		return nil, apierrors.NewMethodNotSupported(resource, r.Method)
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	for _, field := range []string{"resourceVersion", "uid"} {
		old, given := have["metadata"].(object)[field], want["metadata"].(object)[field]
		if given != old {
			return nil, apierrors.NewConflict(resource, name, fmt.Errorf("%s is %v, not %v", field, old, given))
		}
	}
	if isStatus {
		want["spec"] = have["spec"]
	} else {
		want["status"] = have["status"]
	}
	a.put(target, want)
	return a.objects[target], nil
}

func (a *apiServer) create(collection string, body []byte) (object, *apierrors.StatusError) {
	resource := schema.GroupResource{Resource: path.Base(collection)}
	var want object
	if err := json.Unmarshal(body, &want); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	metadata := want["metadata"].(object)
	name, _ := metadata["name"].(string)
	target := collection + "/" + name
	if a.refused[target] {
		return nil, apierrors.NewForbidden(resource, name, fmt.Errorf("by the test"))
	}
	if _, exists := a.objects[target]; exists {
		return nil, apierrors.NewAlreadyExists(resource, name)
	}
	metadata["uid"] = fmt.Sprintf("uid-%d", a.version)
	a.put(target, want)
	return a.objects[target], nil
}

// merge returns have with the patch in it.
func merge(have object, patch []byte, contentType, resource string) (object, error) {
	if contentType != string(types.StrategicMergePatchType) {
		return nil, fmt.Errorf("this server takes no patch of type %q", contentType)
	}
	kinds := map[string]any{"nodes": corev1.Node{}, "pods": corev1.Pod{}, "leases": coordinationv1.Lease{}}
	original, err := json.Marshal(have)
	if err != nil {
		return nil, err
	}
	merged, err := strategicpatch.StrategicMergePatch(original, patch, kinds[resource])
	if err != nil {
		return nil, err
	}
	var want object
	err = json.Unmarshal(merged, &want)
	return want, err
}

// anotherWriter makes every answer about an object of the collection an old one, as
// kube-controller-manager does with nodes when it labels, annotates and taints them.
func (a *apiServer) anotherWriter(collection string) {
	a.answered = func(_, target string, _ int) {
		for stored, obj := range a.objects {
			if path.Dir(stored) == collection && (stored == target || target == collection) {
				obj = maps.Clone(obj)
				metadata := maps.Clone(obj["metadata"].(object))
				metadata["annotations"] = object{annotationOther: strconv.Itoa(a.version)}
				obj["metadata"] = metadata
				a.put(stored, obj)
			}
		}
	}
}

// annotationOther is what another writer leaves.
const annotationOther = "example.com/other-writer"

func findCondition(conditions []corev1.NodeCondition, kind corev1.NodeConditionType) *corev1.NodeCondition {
	for i := range conditions {
		if conditions[i].Type == kind {
			return &conditions[i]
		}
	}
	return nil
}

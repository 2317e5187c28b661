package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// writeFiles writes the files of a CRD directory.
func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestReadCRDs(t *testing.T) {
	const good = "# a comment\n---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a}\nstatus: {}\n" +
		"---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: b}\n"
	for _, tc := range []struct {
		files map[string]string
		want  []string // in the error; none means that a and b are read
	}{
		{map[string]string{"crd.yaml": good, "other.txt": "{"}, nil},
		{map[string]string{"a.yaml": good, "crd.yaml": "apiVersion: v1\nkind: Pod\n"}, []string{"crd.yaml: a document is v1 Pod, not a CustomResourceDefinition"}},
		{map[string]string{"crd.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"}, []string{"crd.yaml", "has no name"}},
		{map[string]string{"crd.yaml": "{"}, []string{"crd.yaml: "}},
		{map[string]string{"crd.yaml": good, "old.yaml": good}, []string{"old.yaml: a was already defined in ", "crd.yaml: delete one"}},
	} {
		crds, err := readCRDs(writeFiles(t, tc.files))
		if len(tc.want) == 0 {
			if err != nil || len(crds) != 2 || crds[0].name != "a" || crds[1].name != "b" || strings.Contains(string(crds[0].body), "status") {
				t.Errorf("readCRDs = %+v, %v; want a and b without status", crds, err)
			}
			continue
		}
		for _, want := range tc.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("readCRDs(%q) = %v, want %q", tc.files, err, want)
			}
		}
	}
}

// thing is a definition whose plural is name.
func thing(name string) string {
	return `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: ` + name + `.example.com},
spec: {group: example.com, names: {plural: ` + name + `, kind: Thing}, scope: Cluster, versions: [
  {name: v2, served: true, storage: true}, {name: v1, served: true}, {name: v0, served: false}]}}`
}

// crdServer is an API server that is slow: each question about a definition gets the next answer of steps.
type crdServer struct {
	*testing.T
	config *rest.Config

	mu      sync.Mutex
	applied []string
	invalid string // the name of a definition that is refused
	asked   int    // how often a definition was asked for
	steps   []step // the last one stays
	onAsk   func() // runs at each of these questions, before the answer
}

// step is what the API server says about all definitions for a while.
type step struct {
	conditions []apiextensionsv1.CustomResourceDefinitionCondition
	offered    map[string][]string // version → plural names
}

func newCRDServer(t *testing.T, steps ...step) *crdServer {
	s := &crdServer{T: t, steps: steps, onAsk: func() {}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.config = &rest.Config{Host: server.URL, QPS: -1}
	return s
}

// ServeHTTP answers one request.
func (s *crdServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.steps[min(max(s.asked-1, 0), len(s.steps)-1)]
	name, isCRD := strings.CutPrefix(r.URL.Path, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/")
	switch {
	case isCRD && r.Method == http.MethodPatch && name == s.invalid:
		s.refuse(w, apierrors.NewInvalid(schema.GroupKind{Kind: "CustomResourceDefinition"}, name, nil))
	case isCRD && r.Method == http.MethodPatch:
		s.applied = append(s.applied, name)
		s.answer(w, http.StatusOK, s.definition(name))
	case isCRD && r.Method == http.MethodGet:
		s.asked++
		s.onAsk()
		s.answer(w, http.StatusOK, s.definition(name))
	default:
		version := filepath.Base(r.URL.Path)
		list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: "example.com/" + version}
		for _, plural := range now.offered[version] {
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: plural, Kind: "Thing"})
		}
		if len(list.APIResources) == 0 {
			s.refuse(w, apierrors.NewNotFound(schema.GroupResource{}, version))
			return
		}
		s.answer(w, http.StatusOK, list)
	}
}

func (s *crdServer) definition(name string) apiextensionsv1.CustomResourceDefinition {
	plural, _, _ := strings.Cut(name, ".")
	return apiextensionsv1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{Kind: "CustomResourceDefinition", APIVersion: "apiextensions.k8s.io/v1"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Kind: "Thing"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v2", Served: true}, {Name: "v1", Served: true}, {Name: "v0"}},
		},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{
			Conditions: s.steps[min(max(s.asked-1, 0), len(s.steps)-1)].conditions,
		},
	}
}

func (s *crdServer) refuse(w http.ResponseWriter, err *apierrors.StatusError) {
	status := err.Status()
	status.Kind, status.APIVersion = "Status", "v1"
	s.answer(w, int(status.Code), status)
}

func (s *crdServer) answer(w http.ResponseWriter, code int, obj any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	if err := json.NewEncoder(w).Encode(obj); err != nil {
		s.Error(err)
	}
}

func condition(kind apiextensionsv1.CustomResourceDefinitionConditionType, status apiextensionsv1.ConditionStatus, age time.Duration) apiextensionsv1.CustomResourceDefinitionCondition {
	return apiextensionsv1.CustomResourceDefinitionCondition{
		Type: kind, Status: status, LastTransitionTime: metav1.NewTime(time.Now().Add(-age)), Message: `"Thing" is already in use`,
	}
}

// Every stage on the way to a usable definition is waited for: names, establishment, and each served version.
func TestApplyCRDsWaitsUntilServed(t *testing.T) {
	type conditions = []apiextensionsv1.CustomResourceDefinitionCondition
	established := conditions{condition(apiextensionsv1.Established, apiextensionsv1.ConditionTrue, 0)}
	server := newCRDServer(
		t,
		step{},
		step{conditions: conditions{condition(apiextensionsv1.NamesAccepted, apiextensionsv1.ConditionFalse, 0)}},
		step{conditions: conditions{condition(apiextensionsv1.Established, apiextensionsv1.ConditionFalse, 0)}},
		step{conditions: established},
		step{conditions: established, offered: map[string][]string{"v2": {"as"}}},
		step{conditions: established, offered: map[string][]string{"v2": {"as"}, "v1": {"others"}}},
		step{conditions: established, offered: map[string][]string{"v2": {"as", "bs"}, "v1": {"as", "bs"}}},
	)
	dir := writeFiles(t, map[string]string{"a.yaml": thing("as"), "b.yaml": thing("bs")})
	count, err := applyCRDs(t.Context(), server.config, dir)
	if err != nil || count != 2 {
		t.Fatalf("applyCRDs = %d, %v; want 2", count, err)
	}
	if want := []string{"as.example.com", "bs.example.com"}; !slices.Equal(server.applied, want) {
		t.Errorf("applied %q, want %q", server.applied, want)
	}
	if want := len(server.steps) + 1; server.asked != want {
		t.Errorf("asked %d times, want %d: once for each step, and once for the second definition", server.asked, want)
	}
}

// Whatever is wrong with one definition, the error names it and its file.
func TestApplyCRDsNamesTheFile(t *testing.T) {
	type conditions = []apiextensionsv1.CustomResourceDefinitionCondition
	refused := conditions{condition(apiextensionsv1.NamesAccepted, apiextensionsv1.ConditionFalse, time.Hour)}
	doubtful := conditions{condition(apiextensionsv1.NamesAccepted, apiextensionsv1.ConditionFalse, 0)}
	for _, tc := range []struct {
		invalid string
		now     step
		want    []string
	}{
		{"bs.example.com", step{}, []string{"apply CRD bs.example.com of ", "b.yaml: ", "is invalid"}},
		{"", step{conditions: refused}, []string{"wait for CRD as.example.com of ", "a.yaml: ", "already in use", "change them"}},
		{"", step{}, []string{"wait for CRD as.example.com of ", "a.yaml: ", "the time is over", "not established", "has not looked"}},
		{"", step{conditions: doubtful}, []string{"wait for CRD as.example.com of ", "a.yaml: ", "the time is over", "not established", "already in use"}},
	} {
		server := newCRDServer(t, tc.now)
		server.invalid = tc.invalid
		ctx, cancel := context.WithCancelCause(t.Context())
		server.onAsk = func() {
			if server.asked == 2 { // the first answer has arrived
				cancel(errors.New("the time is over"))
			}
		}
		_, err := applyCRDs(ctx, server.config, writeFiles(t, map[string]string{"a.yaml": thing("as"), "b.yaml": thing("bs")}))
		cancel(nil)
		for _, want := range tc.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("applyCRDs = %v, want %q", err, want)
			}
		}
	}
}

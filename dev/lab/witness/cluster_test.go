package witness

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/signpostd/signpost/dev/lab/etcdctl"
	"github.com/signpostd/signpost/dev/lab/history"
	"github.com/signpostd/signpost/dev/lab/history/historytest"
	"github.com/signpostd/signpost/testkit/kubetest"
	"github.com/signpostd/signpost/testkit/longtest"
)

// apiServer is an API server with a namespace, and the objects that were written to it.
type apiServer struct {
	*testing.T
	*kubetest.Cluster
	url       string // of etcd
	namespace string
	written   []history.Object // without content
}

func newAPIServer(t *testing.T, cluster *kubetest.Cluster) *apiServer {
	t.Helper()
	a := &apiServer{T: t, Cluster: cluster}
	var err error
	if a.url, err = etcdctl.URL(filepath.Dir(cluster.Kubeconfig)); err != nil {
		t.Fatal(err)
	}
	a.namespace = cluster.Namespace(t)
	return a
}

// kind returns the client of a kind, for namespaced objects or nodes.
func (a *apiServer) kind(resource, namespace string) dynamic.ResourceInterface {
	groups := map[string]schema.GroupVersion{
		"leases": coordinationv1.SchemeGroupVersion, "endpointslices": discoveryv1.SchemeGroupVersion,
		"dnsendpoints": {Group: "externaldns.k8s.io", Version: "v1alpha1"}, "externalworkloads": {Group: "workload.linkerd.io", Version: "v1beta1"},
	}
	group, ok := groups[resource]
	if !ok {
		group = corev1.SchemeGroupVersion
	}
	client := a.Dynamic.Resource(group.WithResource(resource))
	if resource == "nodes" {
		return client
	}
	return client.Namespace(namespace)
}

// create creates an object as soon as the API server accepts it.
func (a *apiServer) create(resource, namespace, text string) {
	a.Helper()
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(text), &object.Object); err != nil {
		a.Fatal(err)
	}
	a.write(resource, namespace, func() (*unstructured.Unstructured, error) {
		return a.kind(resource, namespace).Create(soon(a.T), object, metav1.CreateOptions{})
	})
}

// label changes an object.
func (a *apiServer) label(resource, name, value string) {
	a.Helper()
	a.write(resource, a.namespace, func() (*unstructured.Unstructured, error) {
		patch := fmt.Appendf(nil, `{"metadata":{"labels":{"x":%q}}}`, value)
		return a.kind(resource, a.namespace).Patch(soon(a.T), name, types.MergePatchType, patch, metav1.PatchOptions{})
	})
}

// write retries a write, and stores the result.
func (a *apiServer) write(resource, namespace string, write func() (*unstructured.Unstructured, error)) {
	a.Helper()
	var object *unstructured.Unstructured
	kubetest.Eventually(a.T, patience, func() (err error) {
		object, err = write()
		return err
	})
	if namespace != a.namespace && resource != "nodes" {
		return
	}
	a.written = append(a.written, history.Object{Resource: resource, Namespace: object.GetNamespace(), Name: object.GetName(), Revision: revisionOf(a.T, object)})
}

func revisionOf(t *testing.T, object metav1.Object) int64 {
	t.Helper()
	revision, err := strconv.ParseInt(object.GetResourceVersion(), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return revision
}

func (a *apiServer) lastRevision() int64 { return a.written[len(a.written)-1].Revision }

func (a *apiServer) witness(recorder Recorder) *Cluster {
	a.Helper()
	c, err := NewCluster(ClusterConfig{Etcd: a.url, Namespaces: []string{a.namespace}}, recorder)
	if err != nil {
		a.Fatal(err)
	}
	return c
}

// seen returns the recorded objects.
func seen(recorder *history.Recorder) (all []history.Object) {
	for _, e := range recorder.History().Entries {
		all = append(all, *e.Object)
	}
	return all
}

// want compares the recorded objects with the written ones, without the namespace itself and nodes of other
// tests.
func (a *apiServer) want(recorder *history.Recorder) {
	a.Helper()
	var got []history.Object
	for _, o := range seen(recorder) {
		if (len(o.Content) == 0) != o.Deleted {
			a.Errorf("%s %s, deleted %v, has the content %q", o.Resource, o.Name, o.Deleted, o.Content)
		}
		if o.Content = nil; o.Resource != "namespaces" {
			got = append(got, o)
		}
	}
	if diff := cmp.Diff(a.written, got); diff != "" {
		a.Errorf("(-written +recorded):\n%s", diff)
	}
}

// TestCluster shows that each revision of each kind is recorded with its revision and whole content, and no
// object of another namespace: initial objects, later ones, and those written around a kill of etcd.
func TestCluster(t *testing.T) {
	t.Parallel()
	own := kubetest.StartOwn(t, kubetest.Options{CRDs: "../../../deploy/crds", RestartDelay: retryAfter})
	a := newAPIServer(t, own.Cluster)
	a.create("services", a.namespace, `{"apiVersion":"v1","kind":"Service","metadata":{"name":"web"},"spec":{"ports":[{"port":80}]}}`)
	// The key of the node sorts before that of the Service, and its revision is higher.
	a.create("nodes", "", `{"apiVersion":"v1","kind":"Node","metadata":{"name":"node-1"}}`)
	recorder := historytest.NewRecorder(t)
	c := a.witness(recorder)
	c.page = 7 // small, for many pages
	background(t, c.Run)
	if err := c.WaitFor(soon(t), a.lastRevision()); err != nil {
		t.Fatal(err)
	}
	a.create("pods", a.namespace, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-0"},"spec":{"containers":[{"name":"a","image":"a"}]}}`)
	a.create("pods", "default", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-0"},"spec":{"containers":[{"name":"a","image":"a"}]}}`)
	a.create("nodes", "", `{"apiVersion":"v1","kind":"Node","metadata":{"name":"node-0"}}`)
	a.create("endpoints", a.namespace, `{"apiVersion":"v1","kind":"Endpoints","metadata":{"name":"written"}}`)
	a.create("secrets", a.namespace, `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"secret"}}`)
	a.written = a.written[:len(a.written)-1] // the kind isn't recorded
	a.create("endpointslices", a.namespace, `{"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","metadata":{"name":"web-x"},"addressType":"IPv4","endpoints":[]}`)
	a.create("leases", a.namespace, `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"signpost"}}`)
	a.create("dnsendpoints", a.namespace, `{"apiVersion":"externaldns.k8s.io/v1alpha1","kind":"DNSEndpoint","metadata":{"name":"names"},"spec":{"endpoints":[]}}`)
	a.create("dnsendpoints", "default", `{"apiVersion":"externaldns.k8s.io/v1alpha1","kind":"DNSEndpoint","metadata":{"name":"names"},"spec":{"endpoints":[]}}`)
	for i := range 20 {
		if i%10 == 5 {
			own.Kill(kubetest.Etcd)
		}
		a.label("pods", "web-0", strconv.Itoa(i))
		a.label("dnsendpoints", "names", strconv.Itoa(i))
	}
	if err := c.WaitFor(soon(t), a.lastRevision()); err != nil {
		t.Fatal(err)
	}
	a.remove("services", "web")
	if err := c.WaitFor(soon(t), a.lastRevision()); err != nil {
		t.Fatal(err)
	}
	if c.Revision() < a.lastRevision() {
		t.Errorf("at revision %d, want %d", c.Revision(), a.lastRevision())
	}
	a.want(recorder)
	for _, o := range seen(recorder) {
		if o.Deleted {
			continue
		}
		a.wantContent(o)
	}
}

// remove deletes an object, and stores the revision of the deletion, which the API server returns in a list.
func (a *apiServer) remove(resource, name string) {
	a.Helper()
	if err := a.kind(resource, a.namespace).Delete(soon(a.T), name, metav1.DeleteOptions{}); err != nil {
		a.Fatal(err)
	}
	events, err := a.kind(resource, a.namespace).Watch(soon(a.T), metav1.ListOptions{ResourceVersion: strconv.FormatInt(a.lastRevision(), 10)})
	if err != nil {
		a.Fatal(err)
	}
	defer events.Stop()
	deleted := (<-events.ResultChan()).Object.(*unstructured.Unstructured)
	a.written = append(a.written, history.Object{Resource: resource, Namespace: a.namespace, Name: name, Revision: revisionOf(a.T, deleted), Deleted: true})
}

// wantContent compares a content with the API server's, if it is the last revision of the object.
func (a *apiServer) wantContent(o history.Object) {
	a.Helper()
	if o.Resource == "services" || o.Resource == "namespaces" {
		return // deleted meanwhile; the content of a namespace doesn't matter
	}
	stored, err := a.kind(o.Resource, o.Namespace).Get(soon(a.T), o.Name, metav1.GetOptions{})
	if err != nil {
		a.Fatal(err)
	}
	if revisionOf(a.T, stored) != o.Revision {
		return
	}
	stored.SetManagedFields(nil)
	stored.SetResourceVersion("")
	got := &unstructured.Unstructured{}
	if err := json.Unmarshal(o.Content, &got.Object); err != nil {
		a.Fatal(err)
	}
	if diff := cmp.Diff(whatCounts(stored), whatCounts(got)); diff != "" {
		a.Errorf("%s %s (-API server +recorded):\n%s", o.Resource, o.Name, diff)
	}
}

// whatCounts returns an object as text, without fields that Go's types write as null or empty.
func whatCounts(o *unstructured.Unstructured) string {
	for _, key := range []string{"status", "endpoints"} {
		if v := o.Object[key]; fmt.Sprint(v) == "map[]" || fmt.Sprint(v) == "[]" || v == nil {
			delete(o.Object, key)
		}
	}
	text, err := json.MarshalIndent(o.Object, "", " ")
	return fmt.Sprint(string(text), err)
}

// TestCompaction shows that a compaction of recorded revisions does no harm, and one of unrecorded revisions
// is an error.
func TestCompaction(t *testing.T) {
	t.Parallel()
	a := newAPIServer(t, kubetest.StartOwn(t, kubetest.Options{}).Cluster)
	recorder := historytest.NewRecorder(t)
	c := a.witness(recorder)
	background(t, c.Run)
	a.create("services", a.namespace, `{"apiVersion":"v1","kind":"Service","metadata":{"name":"web"},"spec":{"ports":[{"port":80}]}}`)
	a.label("services", "web", "1")
	if err := c.WaitFor(soon(t), a.lastRevision()); err != nil {
		t.Fatal(err)
	}
	if err := etcdctl.Compact(soon(t), a.url, a.lastRevision()); err != nil {
		t.Fatal(err)
	}
	a.label("services", "web", "2")
	if err := c.WaitFor(soon(t), a.lastRevision()); err != nil {
		t.Fatal(err)
	}
	a.want(recorder)
	late := a.witness(historytest.NewRecorder(t))
	defer late.client.Close()
	_, err := late.follow(soon(t), 1)
	if err == nil || !strings.Contains(err.Error(), "the revisions 2 to") || !strings.Contains(err.Error(), "were compacted before they were read") {
		t.Errorf("follow a compacted revision: %v", err)
	}
}

// TestRestore shows that after an etcd restore the changed objects are recorded as one revision above all
// others, whether etcd's own revision went back or was bumped. Later writes come after it.
func TestRestore(t *testing.T) {
	longtest.Only(t, "etcd and the API server restart several times")
	t.Parallel()
	own := kubetest.StartOwn(t, kubetest.Options{RestartDelay: 2 * time.Second})
	a := newAPIServer(t, own.Cluster)
	recorder := historytest.NewRecorder(t)
	c := a.witness(recorder)
	background(t, c.Run)
	service := func(name string) {
		a.create("services", a.namespace, `{"apiVersion":"v1","kind":"Service","metadata":{"name":"`+name+`"},"spec":{"ports":[{"port":80}]}}`)
	}
	for name, bump := range map[string]bool{"back": false, "bumped": true} {
		service("same-" + name)
		service("changed-" + name)
		service("deleted-" + name)
		copied := own.CopyEtcd()
		a.label("services", "changed-"+name, "x")
		service("new-" + name)
		a.remove("services", "deleted-"+name)
		if err := c.WaitFor(soon(t), a.lastRevision()); err != nil {
			t.Fatal(err)
		}
		reached, before := c.Revision(), len(seen(recorder))
		highest := seen(recorder)[before-1].Revision
		err := c.Restore(soon(t), func(ctx context.Context) (err error) {
			own.RestoreEtcd(copied, func(string) {
				if bump {
					err = etcdctl.Bump(ctx, a.url, reached)
				}
			})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if back := c.Revision() < reached; back == bump {
			t.Errorf("%s: etcd is at %d after %d", name, c.Revision(), reached)
		}
		a.label("services", "same-"+name, "x")
		if err := c.WaitFor(soon(t), a.lastRevision()); err != nil {
			t.Fatal(err)
		}
		var got []string
		for i, o := range seen(recorder)[before:] {
			got = append(got, fmt.Sprintf("%s, deleted %v, restored %v", o.Name, o.Deleted, o.Restored))
			if o.Restored && o.Revision <= highest || i > 0 && !o.Restored && o.Revision <= seen(recorder)[before].Revision {
				t.Errorf("%s, at %d after %d: %s", name, o.Revision, highest, got[i])
			}
		}
		want := []string{
			"new-" + name + ", deleted true, restored true", "changed-" + name + ", deleted false, restored true",
			"deleted-" + name + ", deleted false, restored true", "same-" + name + ", deleted false, restored false",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestNoEtcd shows that a waiter for an unreachable etcd gets the reason.
func TestNoEtcd(t *testing.T) {
	t.Parallel()
	c, err := NewCluster(ClusterConfig{Etcd: "http://127.0.0.1:1"}, historytest.NewRecorder(t))
	if err != nil {
		t.Fatal(err)
	}
	background(t, c.Run)
	eventually(t, func() string {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := c.WaitFor(ctx, 1); !strings.Contains(err.Error(), "the last attempt") {
			return err.Error()
		}
		return ""
	})
}

// TestRecordAll shows that a missing revision is an error, and a repeated one is recorded once.
func TestRecordAll(t *testing.T) {
	event := func(revision int64) *clientv3.Event {
		return &clientv3.Event{Type: mvccpb.DELETE, Kv: &mvccpb.KeyValue{Key: []byte("/registry/pods/lab/a"), ModRevision: revision}}
	}
	recorder := historytest.NewRecorder(t)
	c, err := NewCluster(ClusterConfig{Etcd: "http://127.0.0.1:1", Namespaces: []string{"lab"}}, recorder)
	if err != nil {
		t.Fatal(err)
	}
	defer c.client.Close()
	last, err := c.recordAll(3, []*clientv3.Event{event(3), event(4), event(4), event(5)})
	if err != nil || last != 5 || c.Revision() != 5 || len(seen(recorder)) != 3 {
		t.Errorf("revision %d, %v, %v", last, seen(recorder), err)
	}
	if last, err = c.recordAll(5, []*clientv3.Event{event(7)}); err == nil || last != 5 || len(seen(recorder)) != 3 {
		t.Errorf("after a gap: revision %d, %v, %v", last, seen(recorder), err)
	}
	broken := &clientv3.Event{Kv: &mvccpb.KeyValue{Key: []byte("/registry/pods/lab/a"), Value: []byte("k8s\x00?"), ModRevision: 6}}
	if _, err = c.recordAll(5, []*clientv3.Event{broken}); err == nil || !strings.Contains(err.Error(), "/registry/pods/lab/a, revision 6") {
		t.Errorf("after a value that is no object: %v", err)
	}
}

func TestStored(t *testing.T) {
	s := newStored([]string{"lab"})
	for key, want := range map[string]struct{ resource, namespace, name string }{
		"/registry/pods/lab/a":                                  {"pods", "lab", "a"},
		"/registry/services/specs/lab/a":                        {"services", "lab", "a"},
		"/registry/services/endpoints/lab/a":                    {"endpoints", "lab", "a"},
		"/registry/minions/a":                                   {"nodes", "", "a"},
		"/registry/namespaces/lab":                              {"namespaces", "", "lab"},
		"/registry/policy.linkerd.io/servers/lab/a":             {"servers", "lab", "a"},
		"/registry/workload.linkerd.io/externalworkloads/lab/a": {"externalworkloads", "lab", "a"},
		"/registry/namespaces/other":                            {},
		"/registry/pods/other/a":                                {},
		"/registry/secrets/lab/a":                               {},
		"/registry/services/other/lab/a":                        {},
		"/registry/policy.linkerd.io/servers/other/a":           {},
		"/registry/apiregistration.k8s.io/apiservices/lab":      {},
		"/registry/minions":                                     {},
		"/registry/":                                            {},
		"compact_rev_key":                                       {},
	} {
		got, recorded := s.object(key)
		if recorded != (want.resource != "") {
			t.Errorf("%s is recorded: %v", key, recorded)
		}
		if diff := cmp.Diff(history.Object{Resource: want.resource, Namespace: want.namespace, Name: want.name}, got); recorded && diff != "" {
			t.Errorf("%s (-want +got):\n%s", key, diff)
		}
	}
}

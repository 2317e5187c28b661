package linked

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/kube/kinds"
	"github.com/signpostd/signpost/testkit/kubetest"
	"github.com/signpostd/signpost/testkit/longtest"
	"github.com/signpostd/signpost/testkit/metrictest"
)

// K1: a valid Secret is a cluster with its domains; when it goes, so does the cluster.
// K2: two Secrets are two clusters; removing one leaves the other.
func TestLinksComeAndGo(t *testing.T) {
	for _, from := range []kinds.EndpointsFrom{kinds.FromEndpointSlices, kinds.FromEndpoints} {
		t.Run(string(from), func(t *testing.T) { linksComeAndGo(t, from) })
	}
}

func linksComeAndGo(t *testing.T, from kinds.EndpointsFrom) {
	api := kubetest.Start(t)
	there := api.Namespace(t)
	applyService(t, api, there, "web")
	f := startFrom(t, api, from)
	east, west := linkTo("east", api, t), linkTo("west", api, t)
	f.create(east)
	f.await("east", Synced, "")
	f.wantService("east", there, "web")
	want := catalog.Cluster{Name: "east", TrustDomain: "east.trust", ClusterDomain: "east.local", Synced: true}
	f.wantCluster(want)
	f.create(west)
	f.await("west", Synced, "")
	if n := f.gauge("cluster_store_size"); n != 2 {
		t.Errorf("cluster_store_size %v, want 2", n)
	}
	f.wantEvent("cluster-credentials-west", "ClusterSynced")
	f.remove(east)
	f.wantGone("east")
	f.wantService("west", there, "web")
	if _, ok := f.catalog.FindService(catalog.ServiceKey{Cluster: "east", Namespace: there, Name: "web"}); ok {
		t.Error("K1: a Service of the cluster is still known")
	}
	f.create(east)
	f.await("east", Synced, "")
}

// Q21: a Secret that is completed later is used then, and one that changes is followed:
// new domains at once, and new credentials without a moment in which less is known.
func TestLinksChange(t *testing.T) {
	api := kubetest.Start(t)
	there := api.Namespace(t)
	applyService(t, api, there, "web")
	f := start(t, api)
	east := linkTo("east", api, t)
	kubeconfig := east.Data[kubeconfigKey]
	delete(east.Data, kubeconfigKey)
	f.create(east)
	f.await("east", Unusable, "the key kubeconfig of its data is missing")
	east.Data = map[string][]byte{kubeconfigKey: kubeconfig}
	f.update(east)
	f.await("east", Synced, "")

	east.Annotations[trustDomainAnnotation] = "new.trust"
	f.update(east)
	f.wantCluster(catalog.Cluster{Name: "east", TrustDomain: "new.trust", ClusterDomain: "east.local", Synced: true})
	snapshot := f.catalog.Service(catalog.ServiceKey{Cluster: "east", Namespace: there, Name: "web"})
	defer snapshot.Release()
	east.Data[kubeconfigKey] = []byte(kubeconfigOf(t, api, func(c *clientcmdapi.Config) {
		for _, there := range c.Clusters {
			there.DisableCompression = true
		}
	}))
	f.update(east)
	kubetest.Eventually(t, soon, func() error {
		if c := f.catalog.Cluster("east"); c == nil || !c.Synced {
			t.Fatalf("after the rotation the cluster is %+v", c)
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		n := 0
		for _, e := range f.events {
			if anyHas([]string{e}, []string{"ClusterSynced"}) {
				n++
			}
		}
		if n < 2 {
			return fmt.Errorf("in sync %d times", n)
		}
		return nil
	})
	f.wantService("east", there, "web")

	t.Log("what can't be used leaves what could be used in force")
	east.Data[kubeconfigKey] = []byte("garbage")
	f.update(east)
	f.await("east", Unusable, "not a kubeconfig")
	f.await("east", Synced, "")
	applyService(t, api, there, "later")
	f.wantService("east", there, "later")

	t.Log("another name is another cluster")
	east.Data[kubeconfigKey], east.Labels[clusterNameLabel] = kubeconfig, "orient"
	f.update(east)
	f.wantGone("east")
	f.await("orient", Synced, "")
}

// Each unusable Secret has a log line, an Event and a metric, and nothing else changes: K3 and Q21.
func TestBadLinks(t *testing.T) {
	api := kubetest.Start(t)
	f := start(t, api)
	f.create(linkTo("good", api, t))
	f.await("good", Synced, "")
	bad := map[string]struct {
		edit func(*corev1.Secret)
		why  string
	}{
		"no-kubeconfig":   {func(s *corev1.Secret) { s.Data = nil }, "the key kubeconfig of its data is missing"},
		"garbage":         {func(s *corev1.Secret) { s.Data[kubeconfigKey] = []byte("\x00{") }, "not a kubeconfig"},
		"wrong-type":      {func(s *corev1.Secret) { s.Type = corev1.SecretTypeOpaque }, "its type is Opaque"},
		"no-trust-domain": {func(s *corev1.Secret) { delete(s.Annotations, trustDomainAnnotation) }, trustDomainAnnotation},
		"no-domain":       {func(s *corev1.Secret) { delete(s.Annotations, clusterDomainAnnotation) }, clusterDomainAnnotation},
		"of-ours":         {func(s *corev1.Secret) { s.Labels[clusterNameLabel] = "local" }, "our own cluster"},
		"duplicate":       {func(s *corev1.Secret) { s.Labels[clusterNameLabel] = "good" }, "linked by the Secret cluster-credentials-good already"},
		"program":         {func(s *corev1.Secret) { s.Data[kubeconfigKey] = []byte(execKubeconfig) }, "exec would run a program here"},
	}
	for name, b := range bad {
		s := linkTo(name, api, t)
		b.edit(s)
		f.create(s)
	}
	unlabelled := linkTo("unlabelled", api, t)
	unlabelled.Labels = nil
	f.create(unlabelled)
	for name, b := range bad {
		f.wantEvent("cluster-credentials-"+name, "Warning LinkUnusable", b.why)
		f.mu.Lock()
		if !anyHas(f.problems, []string{"Secret cluster-credentials-" + name, b.why}) {
			t.Errorf("%s: not reported: %q", name, f.problems)
		}
		f.mu.Unlock()
	}
	if n := f.gauge("linked_cluster_secret_unusable"); int(n) != len(bad) {
		t.Errorf("%v Secrets count as unusable, want %d", n, len(bad))
	}
	if n := f.gauge("cluster_store_size"); n != 1 {
		t.Errorf("%v clusters, want 1", n)
	}
	f.await("good", Synced, "")

	f.remove(linkTo("program", api, t))
	f.wantFixed("cluster-credentials-program")

	// When the older of two Secrets goes, the other one takes its place.
	f.remove(linkTo("good", api, t))
	kubetest.Eventually(t, soon, func() error {
		for _, s := range f.set.Status() {
			if s.Cluster == "good" && s.Secret == "cluster-credentials-duplicate" && s.State == Synced {
				return nil
			}
		}
		return fmt.Errorf("%+v", f.set.Status())
	})
	f.wantFixed("cluster-credentials-duplicate")

	t.Log("the Event says whether an earlier version stays in force")
	s := linkTo("duplicate", api, t)
	s.Labels[clusterNameLabel], s.Data[kubeconfigKey] = "good", []byte("\x00{")
	f.update(s)
	f.wantEvent("cluster-credentials-duplicate", "LinkUnusable", "its last usable version stays in force: its kubeconfig can't be used")
}

// Nothing is left of an unlinked cluster, however often clusters come and go.
func TestLinksLeaveNothing(t *testing.T) {
	t.Run("HTTP/2", func(t *testing.T) {
		// What the library has of a connection stays until its timers have run: 90 s.
		linksLeaveNothing(t, 16<<20)
	})
	t.Run("HTTP/1.1", func(t *testing.T) {
		t.Setenv("DISABLE_HTTP2", "true")
		linksLeaveNothing(t, 1<<20)
	})
}

func linksLeaveNothing(t *testing.T, mayKeep uint64) {
	rounds := longtest.Rounds(100)
	api := kubetest.Start(t)
	f := start(t, api)
	east := linkTo("east", api, t)
	goroutines, heap := 0, uint64(0)
	for i := range rounds + 5 {
		f.create(east)
		if i%2 == 0 {
			f.await("east", Synced, "")
		}
		f.remove(east)
		f.wantGone("east")
		if i == 4 {
			goroutines, heap = settledUse(f)
		}
	}
	var nowGoroutines int
	var nowHeap uint64
	kubetest.Eventually(t, soon, func() error {
		nowGoroutines, nowHeap = settledUse(f)
		if nowGoroutines > goroutines+2 || nowHeap > heap+mayKeep {
			return fmt.Errorf("goroutines %d → %d, heap %d → %d kB", goroutines, nowGoroutines, heap>>10, nowHeap>>10)
		}
		return nil
	})
	t.Logf("goroutines %d → %d, heap %d → %d kB over %d rounds", goroutines, nowGoroutines, heap>>10, nowHeap>>10, rounds)
	for series := range metrictest.Series(f.t, f.registry) {
		if strings.Contains(series, `="east"`) {
			t.Errorf("the metric %s is left", series)
		}
	}
}

// settledUse returns the number of goroutines and the size of the heap, when nothing is left of
// unlinked clusters.
func settledUse(f *fixture) (goroutines int, heap uint64) {
	f.t.Helper()
	kubetest.Eventually(f.t, soon, func() error {
		f.set.mu.Lock()
		defer f.set.mu.Unlock()
		if n := len(f.set.clusters); n > 0 {
			return fmt.Errorf("%d clusters are ending", n)
		}
		return nil
	})
	return useNow()
}

func useNow() (goroutines int, heap uint64) {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return runtime.NumGoroutine(), m.HeapAlloc
}

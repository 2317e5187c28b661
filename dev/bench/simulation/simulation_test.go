package simulation

import (
	"context"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/signpostd/signpost/dev/bench/measure"
	"github.com/signpostd/signpost/internal/objectmeta"
	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/kube/kinds"
)

// A simulated pod is as large as the pods of a mesh are, and a real decoder reads it.
func TestSimulatedObjects(t *testing.T) {
	g := NewGenerator(Size{10_000, 10})
	for _, i := range []int{0, 99_999} {
		if n := g.PodAt(i, Edited{}).Size(); n < 7<<10 || n > 9<<10 {
			t.Errorf("pod %d has %d bytes", i, n)
		}
	}
	names, addresses := map[string]bool{}, map[string]bool{}
	for i := range g.PodCount() {
		p := g.PodAt(i, Edited{})
		names[p.Namespace+"/"+p.Name], addresses[p.Status.PodIP] = true, true
	}
	if len(names) != g.PodCount() || len(addresses) != g.PodCount() {
		t.Errorf("%d pods have %d names and %d addresses", g.PodCount(), len(names), len(addresses))
	}
	p, s := g.PodAt(12_345, Edited{Flips: 1}), g.SliceAt(1234, Edited{Flips: 2*5 + 1})
	to := s.Endpoints[5]
	if to.TargetRef.Name != p.Name || to.TargetRef.UID != p.UID || to.Addresses[0] != p.Status.PodIP || *to.NodeName != p.Spec.NodeName || *to.Conditions.Ready {
		t.Errorf("the endpoint is %+v, and its pod %s %s %s", to, p.Name, p.UID, p.Status.PodIP)
	}
}

// startInProcess serves a simulated cluster in this process.
func startInProcess(t *testing.T, s Size, lists bool) (*apiServer, *rest.Config) {
	t.Helper()
	id, err := newIdentity()
	if err != nil {
		t.Fatal(err)
	}
	api := &apiServer{clusterState: newClusterState(s), listsOnly: lists}
	h := httptest.NewUnstartedServer(api)
	h.EnableHTTP2, h.TLS = true, id.config()
	h.StartTLS()
	t.Cleanup(func() {
		h.CloseClientConnections()
		h.Close()
	})
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := writeAtomically(path, id.kubeconfig(h.Listener.Addr().String())); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	return api, config
}

// Tables fill from a simulated cluster, whether it streams lists or not, and follow its changes.
func TestSimulatedCluster(t *testing.T) {
	for _, lists := range []bool{false, true} {
		t.Run(fmt.Sprintf("lists=%t", lists), func(t *testing.T) {
			s := Size{Services: 30, Pods: 10}
			api, config := startInProcess(t, s, lists)
			pods, slices := kinds.Pods().Table(), kinds.EndpointSlices().Table()
			services, nodes := kinds.Services().Table(), kinds.Nodes().Table()
			sets, jobs := kinds.ReplicaSets().Table(), kinds.Jobs().Table()
			servers := kinds.Servers().Table()
			cluster, err := kube.New(kube.Options{Config: config, Report: func(p objectmeta.Problem) { t.Errorf("%v", p) }},
				pods, slices, services, nodes, sets, jobs, servers)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error)
			go func() { done <- cluster.Run(ctx) }()
			defer func() {
				cancel()
				<-done
			}()
			select {
			case <-cluster.Settled():
			case <-time.After(20 * time.Second):
				t.Fatalf("the tables are not full: %+v", cluster.Status())
			}
			for _, table := range []struct {
				name      string
				have, all int
			}{
				{"pods", pods.Len(), 300},
				{"slices", slices.Len(), 30},
				{"services", services.Len(), 30},
				{"nodes", nodes.Len(), 3},
				{"replica sets", sets.Len(), 90},
				{"jobs", jobs.Len(), 0},
			} {
				if table.have != table.all {
					t.Errorf("%d %s of %d", table.have, table.name, table.all)
				}
			}
			if err := api.apply(Changes{Heartbeats: []int{42}, Labels: []int{7}, Slices: []int{3}}); err != nil {
				t.Fatal(err)
			}
			version := fmt.Sprint(api.now())
			if err := measure.Poll(ctx, 20*time.Second, func() bool { return slices.ResourceVersion() == version }); err != nil {
				t.Fatalf("the change of a slice didn't arrive: %v: %s, not %s", err, slices.ResourceVersion(), version)
			}
		})
	}
}

// A watch that continues gets what changed since its version, and nothing else.
func TestSimulatedWatchContinues(t *testing.T) {
	api, config := startInProcess(t, Size{Services: 3, Pods: 4}, false)
	config.ContentType = runtime.ContentTypeProtobuf
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := api.apply(Changes{Heartbeats: []int{1, 5}}); err != nil {
		t.Fatal(err)
	}
	seen := fmt.Sprint(api.now())
	if err := api.apply(Changes{Heartbeats: []int{5}, Labels: []int{6}}); err != nil {
		t.Fatal(err)
	}
	w, err := client.CoreV1().Pods("").Watch(t.Context(), metav1.ListOptions{ResourceVersion: seen})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	var got []string
	for len(got) < 2 {
		e := <-w.ResultChan()
		p, ok := e.Object.(*corev1.Pod)
		if !ok {
			t.Fatalf("got %v %v", e.Type, e.Object)
		}
		got = append(got, fmt.Sprint(p.Name[len(p.Name)-5:], p.Status.Conditions[2].Status, p.Labels["rollout"]))
	}
	if want := "00005True0 00006True1"; strings.Join(got, " ") != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if err := api.apply(Changes{Slices: []int{3}}); err == nil {
		t.Error("a slice that doesn't exist was changed")
	}
}

// Lists come in the pages that a client asks for.
func TestSimulatedPages(t *testing.T) {
	_, config := startInProcess(t, Size{Services: 3, Pods: 4}, true)
	config.ContentType = runtime.ContentTypeProtobuf
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	var sizes []int
	options := metav1.ListOptions{Limit: 5}
	for {
		list, err := client.CoreV1().Pods("").List(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, len(list.Items))
		if options.Continue = list.Continue; options.Continue == "" {
			break
		}
	}
	if fmt.Sprint(sizes) != "[5 5 2]" {
		t.Errorf("the pages have %v pods", sizes)
	}
}

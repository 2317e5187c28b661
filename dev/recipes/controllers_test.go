package recipes

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/signpostd/signpost/testkit/kubetest"
	"github.com/signpostd/signpost/testkit/programtest"
)

// TestControllers turns the controllers of a real kube-controller-manager off, and on again. The slices stay
// the same objects, and no address of an existing pod is lost.
func TestControllers(t *testing.T) {
	bin := programs(t)
	cluster := kubetest.StartOwn(t, kubetest.Options{CRDs: "../../deploy/crds", Nodes: 1}).Cluster
	page := blocks(t, "migrate-controllers.md")
	sh := newShell(t, bin, cluster.Kubeconfig)
	managed := func(controllers string) *programtest.Program {
		address := kubetest.Address(t)
		_, port, _ := strings.Cut(address, ":")
		return start(t, bin, "localcluster", address, nil, "kube-controller-manager", "--kubeconfig="+cluster.Kubeconfig,
			"--authentication-kubeconfig="+cluster.Kubeconfig, "--authorization-kubeconfig="+cluster.Kubeconfig,
			"--bind-address=127.0.0.1", "--secure-port="+port, "--leader-elect=false", "--node-monitor-grace-period=10m", controllers)
	}
	ns := cluster.Namespace(t)
	w := slicesOf{cluster: cluster, namespace: ns}

	manager := managed("--controllers=*")
	apply(t, cluster, "pods.yaml", "{name: web}", "{name: web, namespace: "+ns+"}", "{name: db}", "{name: db, namespace: "+ns+"}")
	for i := range 3 {
		w.run(t, i)
	}
	w.await(t, "192.0.2.1", "192.0.2.2", w.ip(t, 0), w.ip(t, 1), w.ip(t, 2))
	before := w.uids(t)
	end := w.lookOn(t, "192.0.2.1", "192.0.2.2", w.ip(t, 0), w.ip(t, 1))
	sh.run(t, page["check"])
	sh.run(t, page["before"])

	// Signpost takes over.
	manager.Stop(20 * time.Second)
	manager = managed(strings.TrimSpace(page["flag"]))
	args := strings.Fields(strings.ReplaceAll(page["start"], "'", ""))
	admin := kubetest.Address(t)
	signpost := start(t, bin, args[0], admin, []string{"KUBECONFIG=" + cluster.Kubeconfig}, append(args[1:], "--metrics-addr="+admin)...)
	signpost.AwaitReady(t)
	sh.run(t, page["after"])
	w.run(t, 3)
	w.await(t, "192.0.2.1", "192.0.2.2", w.ip(t, 0), w.ip(t, 1), w.ip(t, 2), w.ip(t, 3))
	w.remove(t, 2)
	w.await(t, "192.0.2.1", "192.0.2.2", w.ip(t, 0), w.ip(t, 1), w.ip(t, 3))
	if managers := w.managers(t); !slices.Contains(managers, "signpost") {
		t.Errorf("the slices were written by %v", managers)
	}

	// Rollback.
	signpost.Stop(20 * time.Second)
	manager.Stop(20 * time.Second)
	managed("--controllers=*")
	w.run(t, 4)
	w.await(t, "192.0.2.1", "192.0.2.2", w.ip(t, 0), w.ip(t, 1), w.ip(t, 3), w.ip(t, 4))
	if after := w.uids(t); !maps.Equal(before, after) {
		t.Errorf("the slices were %v, and are %v", before, after)
	}
	seen, lost, what := end(w.ip(t, 4))
	t.Logf("Controllers: changes of slices that a watch saw: %d; slices deleted and addresses lost: %d", seen, lost)
	// Signpost has written at least twice, and the controllers after it once.
	if seen < 3 || lost > 0 {
		t.Errorf("saw %d changes, lost %d: %v", seen, lost, what)
	}
}

// slicesOf are the EndpointSlices of a namespace, and their pods.
type slicesOf struct {
	cluster   *kubetest.Cluster
	namespace string
}

// run creates a pod on a node, and makes it ready.
func (w slicesOf) run(t *testing.T, i int) {
	t.Helper()
	nodes, err := w.cluster.Client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(nodes.Items) == 0 {
		t.Fatalf("nodes: %v, %v", nodes, err)
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("web-%d", i), Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{NodeName: nodes.Items[0].Name, Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	if _, err := w.cluster.Client.CoreV1().Pods(w.namespace).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (w slicesOf) remove(t *testing.T, i int) {
	t.Helper()
	if err := w.cluster.Client.CoreV1().Pods(w.namespace).Delete(t.Context(), fmt.Sprintf("web-%d", i), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// ip returns the address of a pod as soon as the pod has one.
func (w slicesOf) ip(t *testing.T, i int) (ip string) {
	t.Helper()
	kubetest.Eventually(t, patience, func() error {
		pod, err := w.cluster.Client.CoreV1().Pods(w.namespace).Get(t.Context(), fmt.Sprintf("web-%d", i), metav1.GetOptions{})
		if err == nil && pod.Status.PodIP == "" {
			err = fmt.Errorf("the pod %s has no address", pod.Name)
		}
		if err == nil {
			ip = pod.Status.PodIP
		}
		return err
	})
	return ip
}

func (w slicesOf) list(ctx context.Context) ([]discoveryv1.EndpointSlice, error) {
	list, err := w.cluster.Client.DiscoveryV1().EndpointSlices(w.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// await waits until the slices have exactly these addresses, all ready.
func (w slicesOf) await(t *testing.T, want ...string) {
	t.Helper()
	slices.Sort(want)
	kubetest.Eventually(t, patience, func() error {
		items, err := w.list(t.Context())
		if err != nil {
			return err
		}
		var got []string
		for _, s := range items {
			for a := range addresses(&s) {
				got = append(got, a)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			return fmt.Errorf("the slices have %v, want %v", got, want)
		}
		return nil
	})
}

// addresses returns the ready addresses of a slice.
func addresses(s *discoveryv1.EndpointSlice) map[string]bool {
	ready := map[string]bool{}
	for _, e := range s.Endpoints {
		if e.Conditions.Ready == nil || *e.Conditions.Ready {
			for _, a := range e.Addresses {
				ready[a] = true
			}
		}
	}
	return ready
}

func (w slicesOf) uids(t *testing.T) map[string]types.UID {
	t.Helper()
	items, err := w.list(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	uids := map[string]types.UID{}
	for _, s := range items {
		uids[s.Name] = s.UID
	}
	return uids
}

// managers returns the writers of the slices.
func (w slicesOf) managers(t *testing.T) (names []string) {
	t.Helper()
	items, err := w.list(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range items {
		for _, m := range s.ManagedFields {
			names = append(names, m.Manager)
		}
	}
	return names
}

// lookOn watches the slices. The returned function stops when the watch has shown a last address. It returns
// the number of changes, and how many of them deleted a slice or removed one of the addresses.
func (w slicesOf) lookOn(t *testing.T, kept ...string) func(last string) (seen, lost int, what []string) {
	t.Helper()
	list, err := w.cluster.Client.DiscoveryV1().EndpointSlices(w.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	changes, err := w.cluster.Client.DiscoveryV1().EndpointSlices(w.namespace).Watch(context.Background(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	had := map[string]map[string]bool{}
	for _, s := range list.Items {
		had[s.Name] = addresses(&s)
	}
	var wg sync.WaitGroup
	var known sync.Map // addresses that the watch has shown
	var seen, lost int
	var what []string
	ended := make(chan struct{})
	wg.Go(func() {
		for change := range changes.ResultChan() {
			s, ok := change.Object.(*discoveryv1.EndpointSlice)
			if !ok {
				select {
				case <-ended: // an error is a normal end of a watch
				default:
					lost++ // the watch failed, so losses are unknown
					what = append(what, fmt.Sprint(change.Object))
				}
				continue
			}
			seen++
			now := addresses(s)
			for a := range now {
				known.Store(a, nil)
			}
			if change.Type == watch.Deleted {
				lost++
				what = append(what, "the slice "+s.Name)
			}
			for _, a := range kept {
				if had[s.Name][a] && !now[a] {
					lost++
					what = append(what, fmt.Sprintf("%s of %s, which has %v, by %v", a, s.Name, s.Endpoints, s.ManagedFields))
				}
			}
			had[s.Name] = now
		}
	})
	stop := sync.OnceFunc(func() { close(ended); changes.Stop(); wg.Wait() })
	t.Cleanup(stop)
	return func(last string) (int, int, []string) {
		kubetest.Eventually(t, patience, func() error {
			if _, ok := known.Load(last); !ok {
				return fmt.Errorf("the watch has not shown %s", last)
			}
			return nil
		})
		stop()
		return seen, lost, what
	}
}

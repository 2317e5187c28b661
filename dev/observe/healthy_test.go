package observe

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	destination "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/signpostd/signpost/testkit/kubetest"
)

// Two processes with all roles work for a minute while pods come and go, addresses of names change, and a
// proxy listens. Prometheus scrapes them twice a second and believes that to be every 30 seconds, so that
// it sees an hour (with -short, 36 minutes): what lasts seems 60 times as long, and what happens seems 60
// times as rare.
// No alert fires. Then each metric and label that an alert, a panel or a page uses has been exported.
func TestHealthy(t *testing.T) {
	t.Parallel()
	cluster, server := kubetest.StartOwn(t, kubetest.Options{Nodes: 1, CRDs: root + "/deploy/crds"}), startBIND(t)
	namespace := cluster.Namespace(t)
	link(t, cluster.Cluster, namespace)
	cluster.Apply(t, published(5), namespace)
	a := start(t, "signpost-0", config(cluster.Kubeconfig, namespace, server.Addr))
	b := start(t, "signpost-1", config(cluster.Kubeconfig, namespace, server.Addr))
	a.AwaitReady(t)
	b.AwaitReady(t)
	// Before that, the other states of a linked cluster are no fault yet.
	for _, p := range []*target{a, b} {
		awaitMetric(t, p, "cluster_store_size", time.Minute, positive)
	}
	prom := newPrometheus(t, a, b)
	ctx, cancel := context.WithCancel(t.Context())
	var working sync.WaitGroup
	defer func() { cancel(); working.Wait() }()
	working.Go(func() { churn(ctx, t, cluster.Cluster, namespace) })
	working.Go(func() { listen(ctx, t, a, namespace) })

	seen := time.Hour
	if testing.Short() {
		seen = 36 * time.Minute // SignpostPublisherSilent, the slowest alert, needs 35
	}
	prom.scrapeOften(60, int(seen/step), nil)
	if len(prom.fired) > 0 {
		t.Errorf("these alerts fire: %v", prom.fired)
	}
	// Faults have metrics, too: a link that can't be used, sources that must not be read, and a repair.
	c := start(t, "signpost-2", config(cluster.Cluster.KubeconfigAs(t, as("nobody")), namespace, server.Addr))
	awaitMetric(t, c, "signpost_dns_source_failing", time.Minute, positive)
	cluster.Apply(t, fmt.Sprintf(linkSecret, "broken", `"{}"`), namespace)
	err := cluster.Client.DiscoveryV1().EndpointSlices(namespace).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var samples []sample
	for _, p := range []*target{a, b} {
		awaitMetric(t, p, "linked_cluster_secret_unusable", time.Minute, positive)
	}
	kubetest.Eventually(t, time.Minute, func() error {
		samples = nil
		for _, p := range []*target{a, b, c} {
			more, err := p.scrape(t)
			if err != nil {
				return err
			}
			samples = append(samples, more...)
		}
		for _, s := range samples {
			if s.labels.Get("__name__") == "controller_repairs_total" {
				return nil
			}
		}
		return fmt.Errorf("nothing is repaired")
	})
	exported(t, samples)
}

// churn makes a pod come or go, and gives a name another address, ten times a second.
func churn(ctx context.Context, t *testing.T, cluster *kubetest.Cluster, namespace string) {
	nodes, err := cluster.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil || len(nodes.Items) == 0 {
		t.Errorf("there are no nodes: %v", err)
		return
	}
	pods, services := cluster.Client.CoreV1().Pods(namespace), cluster.Client.CoreV1().Services(namespace)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		name, now := fmt.Sprintf("web-%d", i%20), int64(0)
		if i%40 < 20 {
			_, err = pods.Create(ctx, &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "web"}},
				Spec:       corev1.PodSpec{NodeName: nodes.Items[0].Name, Containers: []corev1.Container{{Name: "web", Image: "web"}}},
			}, metav1.CreateOptions{})
		} else {
			err = pods.Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &now})
		}
		if err == nil {
			patch := fmt.Sprintf(`{"metadata":{"annotations":{"external-dns.alpha.kubernetes.io/target":"192.0.2.%d"}}}`, i%250+1)
			_, err = services.Patch(ctx, fmt.Sprintf("web-%d", i%5), types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		}
		if err != nil && ctx.Err() == nil {
			t.Errorf("change something: %v", err)
			return
		}
	}
}

// listen is a proxy that reads what it is told.
func listen(ctx context.Context, t *testing.T, p *target, namespace string) {
	conn, err := grpc.NewClient(p.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	stream, err := destination.NewDestinationClient(conn).Get(ctx, &destination.GetDestination{Path: "web-0." + namespace + ".svc.cluster.local:80"})
	for err == nil {
		_, err = stream.Recv()
	}
	if ctx.Err() == nil {
		t.Errorf("the stream ends: %v", err)
	}
}

// linkSecret links a cluster: its arguments are the name and the kubeconfig, quoted.
const linkSecret = `
apiVersion: v1
kind: Secret
metadata:
  name: link-%[1]s
  labels: {multicluster.linkerd.io/cluster-name: %[1]s}
  annotations: {multicluster.linkerd.io/trust-domain: cluster.local, multicluster.linkerd.io/cluster-domain: cluster.local}
type: mirror.linkerd.io/remote-kubeconfig
stringData: {kubeconfig: %[2]s}
`

// link links a cluster with itself.
func link(t *testing.T, cluster *kubetest.Cluster, namespace string) {
	t.Helper()
	kubeconfig, err := os.ReadFile(cluster.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	indented := "|\n    " + strings.ReplaceAll(strings.TrimSpace(string(kubeconfig)), "\n", "\n    ")
	cluster.Apply(t, strings.Replace(fmt.Sprintf(linkSecret, "east", "KUBECONFIG"), "stringData: {kubeconfig: KUBECONFIG}", "stringData:\n  kubeconfig: "+indented, 1), namespace)
}

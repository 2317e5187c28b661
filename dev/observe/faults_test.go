package observe

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	destination "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/signpostd/signpost/testkit/bindtest"
	"github.com/signpostd/signpost/testkit/kubetest"
)

func TestMain(m *testing.M) { kubetest.Main(m, kubetest.WithCRDs(root+"/deploy/crds")) }

// config is a config file with all roles, and a publisher for BIND.
func config(kubeconfig, namespace string, server netip.AddrPort) string {
	return fmt.Sprintf(`
apiVersion: signpost.dev/v1alpha1
kind: Config
kubeconfig: %[1]s
admin: {address: "ADMIN"}
destination: {addr: "GRPC", controllerNamespace: %[2]s}
controllers: {leaderElection: {resourceNamespace: %[2]s}}
xds: {addr: "XDS"}
dns:
  leaderElection: {resourceNamespace: %[2]s}
  publishers:
    - name: bind
      source: [service, ingress]
      provider: rfc2136
      rfc2136-host: [%[3]q]
      rfc2136-port: %[4]d
      rfc2136-zone: [example.org]
      rfc2136-insecure: true
      rfc2136-axfr: true
      policy: sync
      txt-owner-id: %[2]s
      interval: 1s
      namespace: [%[2]s]
      deletion-delay: 0s
    - {name: memory, interval: 1s, source: [service], provider: inmemory, inmemory-zone: [example.com], policy: sync, txt-owner-id: memory, namespace: [%[2]s]}
`, kubeconfig, namespace, server.Addr(), server.Port())
}

// withRoles returns a config file without the other roles.
func withRoles(t *testing.T, text string, roles ...string) string {
	t.Helper()
	var file map[string]any
	if err := yaml.Unmarshal([]byte(text), &file); err != nil {
		t.Fatal(err)
	}
	for _, role := range []string{"destination", "controllers", "xds", "dns"} {
		if !slices.Contains(roles, role) {
			delete(file, role)
		}
	}
	part, err := yaml.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(part)
}

// startBIND starts BIND with the zone example.org.
func startBIND(t *testing.T) *bindtest.Server {
	t.Helper()
	return bindtest.Serve(t, bindtest.Config{Zones: []bindtest.Zone{{Name: "example.org"}}})
}

// published are Services with a record each.
func published(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `---
apiVersion: v1
kind: Service
metadata:
  name: web-%[1]d
  annotations: {external-dns.alpha.kubernetes.io/hostname: web-%[1]d.example.org, external-dns.alpha.kubernetes.io/target: 192.0.2.1}
spec: {selector: {app: web}, type: LoadBalancer, ports: [{port: 80}]}
`, i)
	}
	return b.String()
}

// awaitMetric waits until a metric of the process has a value for which the condition holds.
func awaitMetric(t *testing.T, p *target, metric string, within time.Duration, condition func(float64) bool) {
	t.Helper()
	// A scrape costs both processes CPU time, so that kubetest.Eventually looks too often.
	tick, end := time.NewTicker(100*time.Millisecond), time.After(within)
	defer tick.Stop()
	for {
		samples, err := p.scrape(t)
		if slices.ContainsFunc(samples, func(s sample) bool { return s.labels.Get("__name__") == metric && condition(s.value) }) {
			return
		}
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("no series of %s is as it should be within %s (%v)", metric, within, err)
		}
	}
}

func positive(v float64) bool { return v > 0 }

// BIND goes away, and later so many objects that their deletions are held.
func TestZoneFailingAndDeletionsHeld(t *testing.T) {
	t.Parallel()
	cluster, server := kubetest.Start(t), startBIND(t)
	namespace := cluster.Namespace(t)
	cluster.Apply(t, published(30), namespace)
	p := start(t, "signpost-0", withRoles(t, config(cluster.Kubeconfig, namespace, server.Addr), "dns"))
	p.AwaitReady(t)
	awaitMetric(t, p, "external_dns_registry_endpoints_total", time.Minute, func(v float64) bool { return v >= 30 })
	for i := range 30 {
		if err := cluster.Client.CoreV1().Services(namespace).Delete(t.Context(), fmt.Sprintf("web-%d", i), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	awaitMetric(t, p, "signpost_dns_deletions_held", time.Minute, positive)
	newPrometheus(t, p).wantFiring(6*time.Minute, "SignpostDeletionsHeld")
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	awaitMetric(t, p, "signpost_dns_zone_failing", time.Minute, positive)
	newPrometheus(t, p).wantFiring(6*time.Minute, "SignpostZoneFailing")
}

// Somebody has made the ConfigMap of the budget immutable, and then a second release with other
// publishers waits for the Lease of the first.
func TestBudgetStoreFailingAndPublishersUnled(t *testing.T) {
	t.Parallel()
	cluster, server := kubetest.Start(t), startBIND(t)
	namespace := cluster.Namespace(t)
	env := "POD_NAMESPACE=" + namespace // that of the ConfigMap
	immutable := true
	budget := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "signpost-dns-budget-bind"}, Immutable: &immutable}
	if _, err := cluster.Client.CoreV1().ConfigMaps(namespace).Create(t.Context(), budget, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	cluster.Apply(t, published(3), namespace)
	text := withRoles(t, config(cluster.Kubeconfig, namespace, server.Addr), "dns")
	a := start(t, "signpost-0", text, env)
	a.AwaitReady(t)
	awaitMetric(t, a, "external_dns_registry_endpoints_total", time.Minute, func(v float64) bool { return v >= 3 })
	if err := cluster.Client.CoreV1().Services(namespace).Delete(t.Context(), "web-2", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitMetric(t, a, "signpost_dns_budget_store_failing", time.Minute, positive)
	b := start(t, "signpost-1", strings.ReplaceAll(text, "name: memory", "name: other"), env)
	awaitMetric(t, b, "signpost_dns_publishers_unled", time.Minute, positive)
	newPrometheus(t, a, b).wantFiring(11*time.Minute, "SignpostBudgetStoreFailing", "SignpostPublishersUnled")
}

// Two releases have the same work under Leases of their own; then one process is gone.
func TestTwoLeadersAndDown(t *testing.T) {
	t.Parallel()
	cluster, server := kubetest.Start(t), startBIND(t)
	a := start(t, "signpost-0", withRoles(t, config(cluster.Kubeconfig, cluster.Namespace(t), server.Addr), "dns"))
	b := start(t, "signpost-1", withRoles(t, config(cluster.Kubeconfig, cluster.Namespace(t), server.Addr), "dns"))
	for _, p := range []*target{a, b} {
		p.AwaitReady(t)
		awaitMetric(t, p, "leader_election_master_status", time.Minute, positive)
	}
	newPrometheus(t, a, b).wantFiring(4*time.Minute, "SignpostTwoLeaders")
	b.Stop(10 * time.Second)
	newPrometheus(t, a, b).wantFiring(6*time.Minute, "SignpostDown")
}

// A service account without any right reads nothing and gets no Lease.
func TestForbidden(t *testing.T) {
	t.Parallel()
	cluster, server := kubetest.Start(t), startBIND(t)
	namespace := cluster.Namespace(t)
	p := start(t, "signpost-0", withRoles(t, config(cluster.KubeconfigAs(t, as("system:serviceaccount:"+namespace+":nobody")), namespace, server.Addr), "destination", "dns"))
	awaitMetric(t, p, "leader_election_failures_total", time.Minute, positive)
	prom := newPrometheus(t, p)
	prom.scrapeAll(nil)
	count := forbidden(t, p)
	kubetest.Eventually(t, time.Minute, func() error {
		if forbidden(t, p) <= count {
			return fmt.Errorf("no more requests are refused than %v", count)
		}
		return nil
	})
	prom.wantFiring(16*time.Minute, "SignpostForbidden", "SignpostNoLeader", "SignpostNotReady", "SignpostSourceFailing")
}

func forbidden(t *testing.T, p *target) (total float64) {
	t.Helper()
	samples, err := p.scrape(t)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range samples {
		if s.labels.Get("__name__") == "rest_client_requests_total" && s.labels.Get("code") == "403" {
			total += s.value
		}
	}
	return total
}

// as makes requests as another user.
func as(name string) func(*clientcmdapi.AuthInfo) {
	return func(user *clientcmdapi.AuthInfo) { user.Impersonate = name }
}

// A client asks for a name that is too long, and somebody deletes what a controller writes.
func TestClientsRefusedAndWritesContested(t *testing.T) {
	cluster, server := kubetest.Start(t), startBIND(t)
	namespace := cluster.Namespace(t)
	cluster.Apply(t, published(20), namespace)
	p := start(t, "signpost-0", withRoles(t, config(cluster.Kubeconfig, namespace, server.Addr), "destination", "controllers"))
	p.AwaitReady(t)
	slices := cluster.Client.DiscoveryV1().EndpointSlices(namespace)
	awaitSlices := func() {
		t.Helper()
		kubetest.Eventually(t, time.Minute, func() error {
			list, err := slices.List(t.Context(), metav1.ListOptions{})
			if err == nil && len(list.Items) < 20 {
				err = fmt.Errorf("there are %d EndpointSlices, want 20", len(list.Items))
			}
			return err
		})
	}
	awaitSlices()
	remove := func() {
		t.Helper()
		if err := slices.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			t.Fatal(err)
		}
		awaitSlices()
	}
	remove() // so that there is a series of the counter
	awaitMetric(t, p, "controller_repairs_total", time.Minute, func(v float64) bool { return v >= 20 })
	prom := newPrometheus(t, p)
	prom.wantFiring(5 * time.Minute)
	remove()
	awaitMetric(t, p, "controller_repairs_total", time.Minute, func(v float64) bool { return v >= 40 })
	refuse(t, p)
	awaitMetric(t, p, "destination_refused_total", time.Minute, positive)
	prom.wantFiring(5*time.Minute, "SignpostWritesContested", "SignpostClientsRefused")
}

// refuse asks for something that a limit forbids.
func refuse(t *testing.T, p *target) {
	t.Helper()
	conn, err := grpc.NewClient(p.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stream, err := destination.NewDestinationClient(conn).Get(ctx, &destination.GetDestination{Path: strings.Repeat("a", 5000)})
	if err == nil {
		_, err = stream.Recv()
	}
	if err == nil {
		t.Fatal("a path of 5000 bytes is answered")
	}
}

// The API server stops answering. Prometheus believes that half a second is 30.
func TestViewStale(t *testing.T) {
	t.Parallel()
	cluster, server := kubetest.StartOwn(t, kubetest.Options{CRDs: root + "/deploy/crds"}), startBIND(t)
	p := start(t, "signpost-0", withRoles(t, config(cluster.Kubeconfig, cluster.Namespace(t), server.Addr), "destination", "dns"))
	p.AwaitReady(t)
	cluster.Stop(kubetest.APIServer)
	defer cluster.Continue(kubetest.APIServer)
	awaitMetric(t, p, "kube_table_stale_seconds", 3*time.Minute, positive)
	prom := newPrometheus(t, p)
	prom.scrapeOften(60, 200, []string{"kube_table_stale_seconds"}, "SignpostViewStale", "SignpostNoLeader")
	prom.wantFiring(0, "SignpostViewStale", "SignpostNoLeader")
}

// refusing makes the API server refuse EndpointSlices in a namespace.
const refusing = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  failurePolicy: Fail
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}
    resourceRules: [{apiGroups: [discovery.k8s.io], apiVersions: [v1], resources: [endpointslices], operations: [CREATE, UPDATE]}]
  validations: [{expression: "false", message: no slices here}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s, validationActions: [Deny]}
`

// An admission policy refuses what a controller writes. Prometheus believes that half a second is 30.
func TestWritesFailing(t *testing.T) {
	t.Parallel()
	cluster, server := kubetest.Start(t), startBIND(t)
	namespace := cluster.Namespace(t)
	cluster.Apply(t, fmt.Sprintf(refusing, namespace), "")
	kubetest.Eventually(t, time.Minute, func() error {
		_, err := cluster.Client.DiscoveryV1().EndpointSlices(namespace).Create(t.Context(), &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "probe-"}, AddressType: discoveryv1.AddressTypeIPv4,
		}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil {
			return fmt.Errorf("EndpointSlices are not refused yet")
		}
		return nil
	})
	p := start(t, "signpost-0", withRoles(t, config(cluster.Kubeconfig, namespace, server.Addr), "controllers"))
	p.AwaitReady(t)
	cluster.Apply(t, published(5), namespace)
	prom := newPrometheus(t, p)
	prom.scrapeOften(60, 150, []string{"controller_oldest_unwritten_seconds"}, "SignpostEndpointsUnwritten", "SignpostWritesFailing")
	prom.wantFiring(0, "SignpostEndpointsUnwritten", "SignpostWritesFailing")
}

// One Secret links a cluster whose server nobody runs, and another one can't be used.
func TestLinksFail(t *testing.T) {
	t.Parallel()
	cluster, server := kubetest.Start(t), startBIND(t)
	namespace := cluster.Namespace(t)
	const nobody = `'{"apiVersion":"v1","kind":"Config","current-context":"a","clusters":[{"name":"a","cluster":{"server":"https://127.0.0.1:1"}}],"contexts":[{"name":"a","context":{"cluster":"a","user":"a"}}],"users":[{"name":"a","user":{"token":"a"}}]}'`
	cluster.Apply(t, fmt.Sprintf(linkSecret, "west", nobody), namespace)
	cluster.Apply(t, fmt.Sprintf(linkSecret, "broken", `"{}"`), namespace)
	p := start(t, "signpost-0", withRoles(t, config(cluster.Kubeconfig, namespace, server.Addr), "destination"))
	awaitMetric(t, p, "linked_cluster_secret_unusable", time.Minute, positive)
	awaitMetric(t, p, "linked_cluster_state", time.Minute, positive)
	newPrometheus(t, p).wantFiring(6*time.Minute, "SignpostLinkedClusterDown", "SignpostLinkUnusable")
}

package process

//lint:file-ignore SA1019 Endpoints are deprecated, and what one of the controllers writes.

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/signpostd/signpost/testkit/kubetest"
)

// The objects of a namespace, and the controllers that write their slices.
const (
	podsOfWeb = `
apiVersion: v1
kind: Node
metadata: {name: n1}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{name: http, port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: Pod
metadata: {name: web-1, labels: {app: web}}
spec: {nodeName: n1, containers: [{name: c, image: i}]}
status: {phase: Running, podIP: 10.1.0.1, podIPs: [{ip: 10.1.0.1}], conditions: [{type: Ready, status: "True"}]}
`
	secondPod = `
apiVersion: v1
kind: Pod
metadata: {name: web-2, labels: {app: web}}
spec: {nodeName: n1, containers: [{name: c, image: i}]}
status: {phase: Running, podIP: 10.1.0.2, podIPs: [{ip: 10.1.0.2}], conditions: [{type: Ready, status: "True"}]}
`
	writtenByHand = `
apiVersion: v1
kind: Service
metadata: {name: db}
spec: {ports: [{name: sql, port: 5432}]}
---
apiVersion: v1
kind: Endpoints
metadata: {name: db}
subsets: [{addresses: [{ip: 192.0.2.1}, {ip: 192.0.2.2}], ports: [{name: sql, port: 5432}]}]
`
	machine = `
apiVersion: v1
kind: Service
metadata: {name: legacy}
spec: {selector: {app: legacy}, ipFamilies: [IPv4], ports: [{name: http, port: 80, targetPort: 8080}]}
---
apiVersion: workload.linkerd.io/v1beta1
kind: ExternalWorkload
metadata: {name: vm, labels: {app: legacy}}
spec:
  meshTLS: {identity: "spiffe://trust.test/vm", serverName: vm.example.org}
  workloadIPs: [{ip: 192.0.2.7}]
  ports: [{name: http, port: 8080}]
status: {conditions: [{type: Ready, status: "True"}]}
`
	endpointsOfPods = "endpointslice-controller.k8s.io"
	mirrored        = "endpointslicemirroring-controller.k8s.io"
	ofMachines      = "linkerd-external-workloads-controller"
)

// TestRolesOnAPIServer runs the roles as the command does, with a real API server.
func TestRolesOnAPIServer(t *testing.T) {
	api := roleServer{kubetest.StartOwn(t, kubetest.Options{CRDs: "../../deploy/crds"}).Cluster}
	t.Run("controllers", api.testControllers)
	t.Run("some controllers", api.testSomeControllers)
	t.Run("takeover", api.testTakeover)
	t.Run("stale standby", api.testStaleStandby)
	t.Run("next leader writes at once", api.testNextLeaderWritesAtOnce)
	t.Run("leader that stays stale", api.testLeaderThatStaysStale)
	t.Run("destination writes", api.testDestinationWrites)
	t.Run("destination without rights", api.testDestinationRights)
	t.Run("links", api.testLinksRights)
	t.Run("tokens of xDS clients", api.testXDSTokens)
	t.Run("certificates of xDS clients", api.testXDSCertificates)
	t.Run("both roles", api.testBothRoles)
	t.Run("work ends", api.testWorkEnds)
}

func (api roleServer) testControllers(t *testing.T) {
	ns := api.Namespace(t)
	s := serveConfig(t, api.controllersConfig(ns))
	if s.grpc != "" {
		t.Errorf("gRPC is served on %s", s.grpc)
	}
	s.awaitReady(t, "by lease "+ns+"/signpost-controllers")
	api.Apply(t, podsOfWeb+"---"+writtenByHand+"---"+machine, ns)
	api.awaitEndpoints(t, ns, "web", "10.1.0.1")
	api.await(t, ns, "web", endpointsOfPods, "10.1.0.1")
	api.await(t, ns, "db", mirrored, "192.0.2.1", "192.0.2.2")
	api.await(t, ns, "legacy", ofMachines, "192.0.2.7")
	api.Apply(t, secondPod, ns)
	api.awaitEndpoints(t, ns, "web", "10.1.0.1", "10.1.0.2")
	api.await(t, ns, "web", endpointsOfPods, "10.1.0.1", "10.1.0.2")
	s.awaitReady(t, "leader: this process, ")
	s.wantMetrics(t,
		`leader_election_master_status{name="signpost-controllers"} 1`,
		`workqueue_adds_total{name="endpoint"} `,
		`controller_writes_total{controller="endpoint",operation="create",result="success"} `,
		`endpoint_slice_controller_changes{operation="create"} `,
		"endpoint_slice_controller_num_endpoint_slices ")
	s.stop(t)
	api.wantReleased(t, ns, "signpost-controllers")
}

func (api roleServer) testSomeControllers(t *testing.T) {
	ns := api.Namespace(t)
	c := api.controllersConfig(ns)
	c.Controllers.Leader.Elect = false
	c.Controllers.Controllers = []string{"endpointslice-controller"}
	api.Apply(t, podsOfWeb+"---"+writtenByHand, ns)
	s := serveConfig(t, c)
	api.await(t, ns, "web", endpointsOfPods, "10.1.0.1")
	s.awaitReady(t, "ok\nleader: this process, without election\n")
	if got, err := api.addresses(ns, "db", mirrored); len(got) > 0 || err != nil {
		t.Errorf("mirrored: %v, %v", got, err)
	}
	s.stop(t)
	if list, err := api.Client.CoordinationV1().Leases(ns).List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) > 0 {
		t.Errorf("leases: %v, %v", list, err)
	}
}

func (api roleServer) testTakeover(t *testing.T) {
	ns := api.Namespace(t)
	api.Apply(t, podsOfWeb, ns)
	first := serveConfig(t, api.controllersConfig(ns))
	first.awaitReady(t, "leader: this process, ")
	second := serveConfig(t, api.controllersConfig(ns))
	second.awaitReady(t, "ok\nleader: ")
	if _, body := second.fetch(t, "/ready"); strings.Contains(body, "this process") {
		t.Errorf("the second process leads, too: %s", body)
	}
	second.wantMetrics(t, `leader_election_master_status{name="signpost-controllers"} 0`)
	api.await(t, ns, "web", endpointsOfPods, "10.1.0.1")
	first.stop(t)
	api.Apply(t, secondPod, ns)
	// The lease would last for ten seconds if it had not been released.
	api.await(t, ns, "web", endpointsOfPods, "10.1.0.1", "10.1.0.2")
	second.awaitReady(t, "leader: this process, ")
	second.stop(t)
}

func (api roleServer) testDestinationWrites(t *testing.T) {
	t.Setenv("HOSTNAME", "linkerd-destination-abc")
	ns := api.Namespace(t)
	s := serveConfig(t, api.destinationConfig(ns))
	api.Apply(t, machine+"---"+podsOfWeb, ns)
	api.await(t, ns, "legacy", ofMachines, "192.0.2.7")
	lease, err := api.Client.CoordinationV1().Leases(ns).Get(t.Context(), "linkerd-destination-endpoint-write", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if holder := lease.Spec.HolderIdentity; holder == nil || *holder != "linkerd-destination-abc" {
		t.Errorf("the lease is held by %v", holder)
	}
	if got, err := api.addresses(ns, "web", endpointsOfPods); len(got) > 0 || err != nil {
		t.Errorf("slices of pods: %v, %v", got, err)
	}
	// The API server may fail for a moment with kinds that are optional.
	kubetest.Eventually(t, deliveryTimeout, func() error {
		if code, body := s.fetch(t, "/ready"); code != 200 || body != "ok\n" {
			return fmt.Errorf("/ready: %d, %q", code, body)
		}
		return nil
	})
	s.wantMetrics(t, `workqueue_depth{name="endpoints_controller_workqueue"} 0`)
	s.stop(t)
}

// Without the right to write, the role still serves.
func (api roleServer) testDestinationRights(t *testing.T) {
	ns := api.Namespace(t)
	c := api.destinationConfig(ns)
	c.Process.Kubeconfig = api.kubeconfigOf(t, ns, "destination", "signpost-destination")
	api.Apply(t, machine, ns)
	s := serveConfig(t, c)
	s.awaitReady(t, "ok\n")
	kubetest.Eventually(t, deliveryTimeout, func() error {
		if _, text := s.fetch(t, "/metrics"); strings.Contains(text, `leader_election_failures_total{name="linkerd-destination-endpoint-write"} 0`) {
			return fmt.Errorf("no attempt to get the lease has failed yet")
		}
		return nil
	})
	if got, err := api.addresses(ns, "legacy", ofMachines); len(got) > 0 || err != nil {
		t.Errorf("slices: %v, %v", got, err)
	}
	s.stop(t)

	// With the roles for writing, it writes too.
	api.kubeconfigOf(t, ns, "destination", "signpost-destination-writer", "signpost-destination-lease")
	s = serveConfig(t, c)
	api.await(t, ns, "legacy", ofMachines, "192.0.2.7")
	api.Apply(t, strings.ReplaceAll(machine, "192.0.2.7", "192.0.2.8"), ns)
	api.await(t, ns, "legacy", ofMachines, "192.0.2.8")
	machines := schema.GroupVersionResource{Group: "workload.linkerd.io", Version: "v1beta1", Resource: "externalworkloads"}
	if err := api.Dynamic.Resource(machines).Namespace(ns).Delete(t.Context(), "vm", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	api.await(t, ns, "legacy", ofMachines)
	s.stop(t)
	api.wantReleased(t, ns, "linkerd-destination-endpoint-write")
}

// With the role for links, it follows links and sends Events about them.
func (api roleServer) testLinksRights(t *testing.T) {
	ns := api.Namespace(t)
	c := api.destinationConfig(ns)
	c.Process.Kubeconfig = api.kubeconfigOf(t, ns, "destination", "signpost-destination", "signpost-destination-links")
	s := serveConfig(t, c)
	s.awaitReady(t, "ok\n")
	api.Apply(t, `
apiVersion: v1
kind: Service
metadata: {name: federated, annotations: {multicluster.linkerd.io/remote-discovery: "web@east,nonsense"}}
spec: {ports: [{port: 80}]}
---
apiVersion: v1
kind: Secret
metadata: {name: to-east, labels: {multicluster.linkerd.io/cluster-name: east}}
type: mirror.linkerd.io/remote-kubeconfig
`, ns)
	api.awaitEvent(t, ns, "LinkUnusable")
	api.awaitEvent(t, ns, "MemberUnusable")
	s.wantMetrics(t, `linked_cluster_secret_unusable{secret="to-east"} 1`)
	s.stop(t)
}

// Both roles share one cluster, and only one of them writes slices for ExternalWorkloads.
func (api roleServer) testBothRoles(t *testing.T) {
	ns := api.Namespace(t)
	c := api.destinationConfig(ns)
	both := api.controllersConfig(ns)
	c.RunsControllers, c.Controllers = true, both.Controllers
	s := serveConfig(t, c)
	api.Apply(t, podsOfWeb+"---"+machine, ns)
	api.await(t, ns, "web", endpointsOfPods, "10.1.0.1")
	api.await(t, ns, "legacy", ofMachines, "192.0.2.7")
	s.awaitReady(t, "ok\nleader: this process, ")
	_, text := s.fetch(t, "/metrics")
	if n := strings.Count(text, "\nservice_cache_size{"); n != 1 {
		t.Errorf("%d caches of Services, want one", n)
	}
	if strings.Contains(text, "linkerd-destination-endpoint-write") {
		t.Error("there are two writers of slices for ExternalWorkloads")
	}
	s.stop(t)
	c.Controllers.Controllers = []string{"endpoints"}
	s = serveConfig(t, c)
	api.Apply(t, strings.ReplaceAll(machine, "192.0.2.7", "192.0.2.8"), ns)
	api.await(t, ns, "legacy", ofMachines, "192.0.2.8")
	s.wantMetrics(t, `leader_election_master_status{name="linkerd-destination-endpoint-write"} 1`, `leader_election_master_status{name="signpost-controllers"} `)
	s.stop(t)
}

package process

import (
	"bytes"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"testing"
	"time"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/signpostd/signpost/app/inspectclient"
	"github.com/signpostd/signpost/app/output"
	"github.com/signpostd/signpost/app/portforward"
	"github.com/signpostd/signpost/testkit/kubetest"
)

// bb is a Service with one meshed pod, as the controllers of its cluster write it.
const bb = `
apiVersion: v1
kind: Service
metadata: {name: bb}
spec: {selector: {app: bb}, ports: [{name: http, port: 8080}]}
---
apiVersion: v1
kind: Pod
metadata: {name: bb, labels: {app: bb, linkerd.io/control-plane-ns: MESH}}
spec:
  nodeName: n1
  containers:
  - name: linkerd-proxy
    image: i
    env:
    - {name: LINKERD2_PROXY_INBOUND_LISTEN_ADDR, value: "0.0.0.0:4143"}
    - {name: LINKERD2_PROXY_ADMIN_LISTEN_ADDR, value: "0.0.0.0:4191"}
    - {name: LINKERD2_PROXY_CONTROL_LISTEN_ADDR, value: "0.0.0.0:4190"}
status: {phase: Running, podIP: ADDRESS, podIPs: [{ip: ADDRESS}], conditions: [{type: Ready, status: "True"}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: bb, labels: {kubernetes.io/service-name: bb}}
addressType: IPv4
endpoints: [{addresses: [ADDRESS], conditions: {ready: true}, targetRef: {kind: Pod, name: bb}}]
ports: [{name: http, port: 8080}]
`

// fleet is a cluster that is served, and two others to link it with.
type fleet struct {
	t                    *testing.T
	local, east, north   *kubetest.OwnCluster
	control, application string
	served               served
	client               pb.DestinationClient
}

func startFleet(t *testing.T) *fleet {
	t.Helper()
	options := kubetest.Options{CRDs: "../../deploy/crds"}
	f := &fleet{t: t, application: "shop"}
	for _, c := range []**kubetest.OwnCluster{&f.local, &f.east, &f.north} {
		*c = kubetest.StartOwn(t, options)
		(*c).Apply(t, "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}", "")
	}
	f.control = f.local.Namespace(t)
	c := roleServer{f.local.Cluster}.destinationConfig(f.control)
	c.Destination.IdentityTrustDomain = "local.trust"
	f.served = serveConfig(t, c)
	conn, err := grpc.NewClient(f.served.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	f.client = pb.NewDestinationClient(conn)
	return f
}

func (f *fleet) serveBB(in *kubetest.OwnCluster, address string) {
	f.t.Helper()
	in.Apply(f.t, strings.NewReplacer("ADDRESS", address, "MESH", f.control).Replace(bb), f.application)
}

func (f *fleet) link(name string, to *kubetest.OwnCluster) {
	f.t.Helper()
	file, err := clientcmd.LoadFromFile(to.Kubeconfig)
	if err == nil {
		err = clientcmdapi.FlattenConfig(file)
	}
	var kubeconfig []byte
	if err == nil {
		kubeconfig, err = clientcmd.Write(*file)
	}
	if err == nil {
		_, err = f.local.Client.CoreV1().Secrets(f.control).Create(f.t.Context(), &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Name: "to-" + name, Labels: map[string]string{"multicluster.linkerd.io/cluster-name": name},
				Annotations: map[string]string{"multicluster.linkerd.io/trust-domain": name + ".trust", "multicluster.linkerd.io/cluster-domain": "cluster.local"},
			},
			Type: "mirror.linkerd.io/remote-kubeconfig", Data: map[string][]byte{"kubeconfig": kubeconfig},
		}, metav1.CreateOptions{})
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fleet) unlink(name string) {
	f.t.Helper()
	if err := f.local.Client.CoreV1().Secrets(f.control).Delete(f.t.Context(), "to-"+name, metav1.DeleteOptions{}); err != nil {
		f.t.Fatal(err)
	}
}

// annotate makes the Service web federated: remote and local are its members, if not empty.
func (f *fleet) annotate(remote, local string) {
	f.t.Helper()
	var annotations []string
	for key, value := range map[string]string{"remote": remote, "local": local} {
		if value != "" {
			annotations = append(annotations, fmt.Sprintf("multicluster.linkerd.io/%s-discovery: %q", key, value))
		}
	}
	f.local.Apply(f.t, "{apiVersion: v1, kind: Service, metadata: {name: web, annotations: {"+strings.Join(annotations, ", ")+
		"}}, spec: {ports: [{name: http, port: 8080}]}}", f.application)
}

// watched is a stream whose endpoints the test compares.
type watched struct {
	*scenarioClient
	t *testing.T
}

func (f *fleet) get(service string) watched {
	c := openScenarioClient(f.client, scenarioStream{verb: "get", name: service, query: &pb.GetDestination{Path: service + ".shop.svc.cluster.local:8080"}})
	f.t.Cleanup(c.cancel)
	return watched{c, f.t}
}

// has waits until the stream has sent exactly these endpoints. Each is an address and the
// trust domain of its identity.
func (w watched) has(when string, want ...string) {
	w.t.Helper()
	kubetest.Eventually(w.t, 20*time.Second, func() error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.over {
			w.t.Fatalf("%s: the stream has ended: %s", when, w.why)
		}
		if len(w.known) != len(want) {
			return fmt.Errorf("%s: want %q, was told\n%s", when, want, w.pending)
		}
		for _, e := range want {
			address, domain, _ := strings.Cut(e, " ")
			if text := w.known[netip.MustParseAddrPort(address+":8080")]; !strings.Contains(text, "."+domain) {
				return fmt.Errorf("%s: no %q, was told\n%s", when, e, w.pending)
			}
		}
		return nil
	})
}

// TestClustersOnAPIServers checks with three API servers the responses to streams while members and
// clusters are added and removed (G11, F1 to F4, Q20 and Q34).
func TestClustersOnAPIServers(t *testing.T) {
	f := startFleet(t)
	f.serveBB(f.local, "10.0.0.1")
	f.serveBB(f.east, "10.1.0.1")
	f.serveBB(f.north, "10.2.0.1")
	f.link("east", f.east)
	f.annotate("bb@east", "bb")
	f.local.Apply(t, "{apiVersion: v1, kind: Service, metadata: {name: far, labels: {multicluster.linkerd.io/remote-discovery: east, multicluster.linkerd.io/remote-service: bb}}, spec: {ports: [{name: http, port: 8080}]}}", f.application)
	f.awaitCluster("east     synced")
	far, web := f.get("far"), f.get("web")
	far.has("G11", "10.1.0.1 east.trust")
	web.has("F1", "10.0.0.1 local.trust", "10.1.0.1 east.trust")
	f.annotate("bb@east,bb@north", "bb")
	f.link("north", f.north)
	web.has("F2", "10.0.0.1 local.trust", "10.1.0.1 east.trust", "10.2.0.1 north.trust")
	f.annotate("bb@north", "bb")
	web.has("F3", "10.0.0.1 local.trust", "10.2.0.1 north.trust")
	f.annotate("bb@north", "")
	web.has("F4, the local member leaves", "10.2.0.1 north.trust")
	f.annotate("bb@north", "bb")
	web.has("F4, it is back", "10.0.0.1 local.trust", "10.2.0.1 north.trust")
	f.serveBB(f.north, "10.2.0.2")
	web.has("a pod of a member moves", "10.0.0.1 local.trust", "10.2.0.2 north.trust")
	f.north.Stop(kubetest.APIServer)
	f.serveBB(f.local, "10.0.0.2")
	web.has("while north hangs", "10.0.0.2 local.trust", "10.2.0.2 north.trust")
	f.north.Continue(kubetest.APIServer)
	f.serveBB(f.local, "10.0.0.1")
	f.serveBB(f.north, "10.2.0.3")
	web.has("after north hung", "10.0.0.1 local.trust", "10.2.0.3 north.trust")
	f.serveBB(f.north, "10.2.0.2")
	f.unlink("north")
	web.has("Q20", "10.0.0.1 local.trust")
	f.link("north", f.north)
	web.has("Q20, linked again", "10.0.0.1 local.trust", "10.2.0.2 north.trust")
	f.unlink("east")
	far.has("Q20, remote")
	f.link("east", f.east)
	far.has("Q20, remote, linked again", "10.1.0.1 east.trust")
	f.local.Apply(t, "{apiVersion: v1, kind: Service, metadata: {name: far}, spec: {ports: [{name: http, port: 8080}]}}", f.application)
	far.has("Q34, local")
	f.served.wantMetrics(t, "cluster_store_size 2", `linked_cluster_state{cluster="east",state="synced"} 1`, `pod_cache_size{cluster="north"} 1`)
	roleServer{f.local.Cluster}.awaitEvent(t, f.control, "ClusterSynced")
	f.served.stop(t)
}

// awaitCluster waits until `signpost clusters` prints a line that begins with this one.
func (f *fleet) awaitCluster(line string) {
	f.t.Helper()
	kubetest.Eventually(f.t, 20*time.Second, func() error {
		found, err := portforward.Find(f.t.Context(), portforward.Target{Addr: f.served.admin})
		if err != nil {
			return err
		}
		defer found.Close()
		var out bytes.Buffer
		a, err := inspectclient.New(found, time.Second, io.Discard).Clusters(f.t.Context())
		if err == nil {
			err = output.Print(&out, output.Format{}, a)
		}
		if err == nil && !strings.Contains(out.String(), "\n"+line) {
			err = fmt.Errorf("no %q in\n%s", line, &out)
		}
		return err
	})
}

package recipes

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/internal/manifest"
	"github.com/signpostd/signpost/testkit/kubetest"
	"github.com/signpostd/signpost/testkit/programtest"
)

const authority = "web.shop.svc.cluster.local:80"

// TestLinkerd replaces the image of the container by ours and rolls back. A client that reconnects keeps its
// endpoints, and none is ever removed.
func TestLinkerd(t *testing.T) {
	bin := programs(t)
	cluster := kubetest.StartOwn(t, kubetest.Options{CRDs: "../../deploy/crds"}).Cluster
	cluster.Apply(t, "{apiVersion: v1, kind: Namespace, metadata: {name: linkerd}}\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: shop}}", "")
	apply(t, cluster, "linkerd.yaml")
	cluster.Apply(t, web("10.1.0.1", "10.1.0.2"), "shop")
	page := blocks(t, "migrate-linkerd.md")
	sh := newShell(t, bin, cluster.Kubeconfig)
	pod := func() corev1.Container {
		return containerOf(t, cluster, "linkerd", "linkerd-destination", "destination")
	}
	before := pod()
	kubeconfig := cluster.KubeconfigOf(t, "linkerd", "linkerd-destination")
	run := func(hostname string, c corev1.Container) (p *programtest.Program, addr string) {
		admin, addr := kubetest.Address(t), kubetest.Address(t)
		// The addresses and the kubeconfig are the only arguments that a pod doesn't need.
		p = start(t, bin, "signpost", admin, []string{"HOSTNAME=" + hostname}, append(slices.Clone(c.Args), "-addr="+addr, "-metrics-addr="+admin, "-kubeconfig="+kubeconfig)...)
		p.AwaitReady(t)
		return p, addr
	}
	old, oldAddr := run("linkerd-destination-old", before)

	compare(t, bin, sh, page, oldAddr)
	sh.run(t, page["check"])

	c := follow(t, oldAddr)
	c.await(t, "10.1.0.1", "10.1.0.2")
	throughPostRenderer(t, sh, page)
	after := pod()
	if !strings.Contains(after.Image, "signpost") || !strings.HasSuffix(strings.TrimSpace(page["swap"]), "destination="+after.Image) {
		t.Errorf("the image of the container is %s, and the command says:\n%s", after.Image, page["swap"])
	}
	fresh, freshAddr := run("linkerd-destination-new", after)
	c.server(freshAddr)
	old.Stop(20 * time.Second)
	c.awaitStreams(t, 2)
	cluster.Apply(t, web("10.1.0.1", "10.1.0.2", "10.1.0.3"), "shop")
	c.await(t, "10.1.0.1", "10.1.0.2", "10.1.0.3")
	wantHolder(t, cluster, "linkerd-destination-new")

	// Rollback, like an upgrade without the post-renderer.
	apply(t, cluster, "linkerd.yaml")
	if diff := cmp.Diff(before, pod()); diff != "" {
		t.Errorf("the container after the way back (-want +got):\n%s", diff)
	}
	back, backAddr := run("linkerd-destination-back", pod())
	c.server(backAddr)
	fresh.Stop(20 * time.Second)
	c.awaitStreams(t, 3)
	c.await(t, "10.1.0.1", "10.1.0.2", "10.1.0.3")
	wantHolder(t, cluster, "linkerd-destination-back")
	for _, p := range []*programtest.Program{old, fresh, back} {
		wantAllowed(t, p)
	}
	streams, lost := c.stop()
	t.Logf("Linkerd: streams of the client: %d; endpoints removed or missing after a reconnect: %d", streams, lost)
	if lost != 0 {
		t.Errorf("%d endpoints were lost", lost)
	}
}

// compare runs Signpost beside the other controller and queries both, as on the page.
func compare(t *testing.T, bin string, sh shell, page map[string]string, linkerd string) {
	t.Helper()
	addr, admin := kubetest.Address(t), kubetest.Address(t)
	ports := strings.NewReplacer("127.0.0.1:8086", linkerd, "127.0.0.1:18086", addr, "127.0.0.1:19996", admin)
	script := ports.Replace(page["beside"])
	words := strings.Replace(script, "\nsignpost ", "\nprintf '%s\\n' ", 1)
	if words == script {
		t.Fatalf("the page starts no signpost:\n%s", script)
	}
	args := strings.Split(strings.TrimSpace(sh.run(t, words)), "\n")
	p := start(t, bin, "signpost", admin, sh.env, args...)
	p.AwaitReady(t)
	sh.run(t, ports.Replace(page["compare"]))
	p.Stop(20 * time.Second)
}

// throughPostRenderer runs Linkerd's manifests through the files of the page and applies the result. Only the
// image of one container may change.
func throughPostRenderer(t *testing.T, sh shell, page map[string]string) {
	t.Helper()
	for name, text := range map[string]string{"signpost.yaml": page["image"], "kustomization.yaml": page["kustomization"], "with-signpost": page["post-renderer"]} {
		if err := os.WriteFile(filepath.Join(sh.dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	path, err := filepath.Abs("testdata/linkerd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	manifests, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rendered := sh.run(t, "./with-signpost <"+path)
	want, got := decode(t, string(manifests)), decode(t, rendered)
	image := func(path cmp.Path) bool { return path.Last().String() == `["image"]` }
	if diff := cmp.Diff(want, got, cmp.FilterPath(image, cmp.Ignore())); diff != "" {
		t.Errorf("the kustomization changes more than an image (-linkerd +signpost):\n%s", diff)
	}
	if n := strings.Count(rendered, "signpost"); n != 2 { // signpostd/signpost
		t.Errorf("signpost is named %d times in\n%s", n, rendered)
	}
	sh.run(t, "./with-signpost <"+path+" | kubectl apply --server-side --force-conflicts -f -")
}

// decode returns objects by kind and name.
func decode(t *testing.T, text string) map[string]map[string]any {
	t.Helper()
	objects, err := manifest.Decode(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]map[string]any{}
	for _, o := range objects {
		byName[o.GetKind()+"/"+o.GetName()] = o.Object
	}
	return byName
}

// wantHolder waits until a process holds the Lease of the writer.
func wantHolder(t *testing.T, cluster *kubetest.Cluster, hostname string) {
	t.Helper()
	kubetest.Eventually(t, patience, func() error {
		lease, err := cluster.Client.CoordinationV1().Leases("linkerd").Get(t.Context(), "linkerd-destination-endpoint-write", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if holder := lease.Spec.HolderIdentity; holder == nil || !strings.Contains(*holder, hostname) {
			return fmt.Errorf("the Lease isn't of %s: %v", hostname, lease.Spec)
		}
		return nil
	})
}

// web returns a Service whose EndpointSlice has these addresses.
func web(addresses ...string) string {
	text := `
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {ports: [{name: http, port: 80, targetPort: 8080}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-1, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{name: http, port: 8080, protocol: TCP}]
endpoints:
`
	for _, a := range addresses {
		text += "  - {addresses: [" + a + "], conditions: {ready: true}}\n"
	}
	return text
}

// A client follows one Service like a proxy: when its stream ends, it opens another one and keeps its
// endpoints.
type client struct {
	cancel context.CancelFunc
	done   chan struct{}

	mu      sync.Mutex
	addr    string
	known   map[string]bool
	streams int
	lost    int
}

func follow(t *testing.T, addr string) *client {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	c := &client{cancel: cancel, done: make(chan struct{}), addr: addr, known: map[string]bool{}}
	go c.run(ctx)
	t.Cleanup(func() { c.stop() })
	return c
}

func (c *client) run(ctx context.Context) {
	defer close(c.done)
	for ctx.Err() == nil {
		c.mu.Lock()
		addr := c.addr
		c.mu.Unlock()
		c.stream(ctx, addr)
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond): // the back-off of a proxy
		}
	}
}

// stream reads one stream to its end.
func (c *client) stream(ctx context.Context, addr string) {
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return
	}
	defer conn.Close()
	stream, err := pb.NewDestinationClient(conn).Get(ctx, &pb.GetDestination{Scheme: "k8s", Path: authority})
	for first := true; err == nil; first = false {
		var update *pb.Update
		if update, err = stream.Recv(); err == nil {
			c.take(update, first)
		}
	}
}

func (c *client) take(update *pb.Update, first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	added := map[string]bool{}
	for _, a := range update.GetAdd().GetAddrs() {
		ip := make(net.IP, 4)
		v4 := a.GetAddr().GetIp().GetIpv4()
		ip[0], ip[1], ip[2], ip[3] = byte(v4>>24), byte(v4>>16), byte(v4>>8), byte(v4)
		added[ip.String()] = true
	}
	if first {
		c.streams++
		for a := range c.known {
			if !added[a] {
				c.lost++ // a new stream starts with all endpoints
			}
		}
	}
	for a := range added {
		c.known[a] = true
	}
	c.lost += len(update.GetRemove().GetAddrs())
	if update.GetNoEndpoints() != nil {
		c.lost++
	}
}

// server changes the server of the next stream.
func (c *client) server(addr string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.addr = addr
}

func (c *client) await(t *testing.T, addresses ...string) {
	t.Helper()
	kubetest.Eventually(t, patience, func() error {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, a := range addresses {
			if !c.known[a] || len(c.known) != len(addresses) {
				return fmt.Errorf("the client knows %v, want %v", c.known, addresses)
			}
		}
		return nil
	})
}

func (c *client) awaitStreams(t *testing.T, n int) {
	t.Helper()
	kubetest.Eventually(t, patience, func() error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.streams < n {
			return fmt.Errorf("the client has had %d streams, want %d", c.streams, n)
		}
		return nil
	})
}

// stop ends the client, and returns the number of its streams and of lost endpoints.
func (c *client) stop() (streams, lost int) {
	c.cancel()
	<-c.done
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.streams, c.lost
}

package process

import (
	"context"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/signpostd/signpost/testkit/kubetest"
)

// callers is a proxy before an API server. It records the User-Agent of each request.
type callers struct {
	*httptest.Server
	mu    sync.Mutex
	agent map[string]map[string]string // User-Agent, then the request, to the last path
}

func startCallers(t *testing.T, api roleServer) *callers {
	transport, err := rest.TransportFor(api.Config)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(api.Config.Host)
	if err != nil {
		t.Fatal(err)
	}
	c := &callers{agent: map[string]map[string]string{}}
	proxy := &httputil.ReverseProxy{Transport: transport, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0), Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		parts := strings.Split(r.URL.Path, "/")
		c.mu.Lock()
		name := r.Header.Get("User-Agent")
		if c.agent[name] == nil {
			c.agent[name] = map[string]string{}
		}
		c.agent[name][r.Method+" "+parts[len(parts)-1]] = r.URL.Path
		c.mu.Unlock()
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(c.Close)
	return c
}

// agents returns the recorded User-Agents.
func (c *callers) agents() map[string]map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[string]map[string]string{}
	for name, paths := range c.agent {
		all[name] = maps.Clone(paths)
	}
	return all
}

// kubeconfig returns the path of a kubeconfig for the proxy, and its text.
func (c *callers) kubeconfig(t *testing.T) (path, text string) {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: c.URL}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{}
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.CurrentContext = "c"
	written, err := clientcmd.Write(*config)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path, string(written)
}

var agentForm = regexp.MustCompile(`^signpost/\S+ \(\w+/\w+\) [a-z,]+$`)

// Every request of every role has the User-Agent of its role. Before, the API server recorded
// "Go-http-client" as the writer of slices and Leases.
func (api roleServer) testUserAgents(t *testing.T) {
	ns := api.Namespace(t)
	callers := startCallers(t, api)
	path, text := callers.kubeconfig(t)
	c := api.destinationConfig(ns)
	c.RunsControllers, c.Controllers = true, api.controllersConfig(ns).Controllers
	c.Controllers.Controllers = []string{"endpoints", "endpointslices"}
	c.Process.Kubeconfig = path
	s := serveConfig(t, c)
	published := dnsConfig(t, "--source=service", "--policy=sync", "--namespace="+ns, "--provider=inmemory", "--inmemory-zone=example.test", "--registry=crd", "--txt-owner-id="+ns,
		"--crd-registry-namespace="+ns, "--leader-elect", "--leader-elect-resource-namespace="+ns, "--kubeconfig="+path)
	d := serveConfig(t, published)
	api.Apply(t, podsOfWeb+"---"+machine+fmt.Sprintf(`
---
apiVersion: v1
kind: Secret
metadata:
  name: to-east
  labels: {multicluster.linkerd.io/cluster-name: east}
  annotations: {multicluster.linkerd.io/trust-domain: east, multicluster.linkerd.io/cluster-domain: east}
type: mirror.linkerd.io/remote-kubeconfig
stringData: {kubeconfig: %q}
`, text)+"---"+publishedService, ns)
	api.await(t, ns, "web", endpointsOfPods, "10.1.0.1")
	api.await(t, ns, "legacy", ofMachines, "192.0.2.7")
	api.awaitEvent(t, ns, "ClusterSynced")
	api.awaitEvent(t, ns, "RecordReady")
	want := map[string][]string{
		" controllers": {"GET signpost-controllers", "POST endpoints", "POST endpointslices"},
		" destination": {
			"GET linkerd-destination-endpoint-write", "POST events", "POST endpointslices", "GET secrets",
			"GET services", "GET pods",
		}, // of the linked cluster
		" destination,controllers": {"GET services", "GET pods"},
		" dns":                     {"GET services", "POST events", "POST dnsrecords"},
	}
	kubetest.Eventually(t, deliveryTimeout, func() error { return wantCallers(callers.agents(), want) })
	for name := range callers.agents() {
		if !agentForm.MatchString(name) {
			t.Errorf("%q asks for %v", name, callers.agents()[name])
		}
	}
	for _, manager := range api.managers(t, ns) {
		if manager != "signpost" {
			t.Errorf("the API server calls a writer %q", manager)
		}
	}
	s.wantMetrics(t, `rest_client_requests_total{code="201",host="`+strings.TrimPrefix(callers.URL, "http://")+`",method="POST"} `,
		`rest_client_request_duration_seconds_count{host="`+strings.TrimPrefix(callers.URL, "http://")+`",verb="POST"} `)
	d.stop(t)
	s.stop(t)
}

// publishedService is a Service with a record.
var publishedService = published("shop", "192.0.2.1")

// wantCallers returns an error unless each role has sent these requests.
func wantCallers(agents map[string]map[string]string, want map[string][]string) error {
	for suffix, requests := range want {
		for _, request := range requests {
			if !slices.ContainsFunc(slices.Collect(maps.Keys(agents)), func(name string) bool {
				return strings.HasSuffix(name, ")"+suffix) && agents[name][request] != ""
			}) {
				return fmt.Errorf("nobody whose User-Agent ends in %q asks for %s, among %v", suffix, request, agents)
			}
		}
	}
	return nil
}

// managers returns the field managers of the slices and Leases of a namespace.
func (api roleServer) managers(t *testing.T, namespace string) (names []string) {
	t.Helper()
	endpointSlices, err := api.Client.DiscoveryV1().EndpointSlices(namespace).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	leases, err := api.Client.CoordinationV1().Leases(namespace).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range endpointSlices.Items {
		for _, f := range endpointSlices.Items[i].ManagedFields {
			names = append(names, f.Manager)
		}
	}
	for i := range leases.Items {
		for _, f := range leases.Items[i].ManagedFields {
			names = append(names, f.Manager)
		}
	}
	if len(endpointSlices.Items) == 0 || len(leases.Items) < 3 {
		t.Errorf("%d slices and %d Leases", len(endpointSlices.Items), len(leases.Items))
	}
	return names
}

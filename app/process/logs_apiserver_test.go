package process

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/signpostd/signpost/testkit/kubetest"
	"github.com/signpostd/signpost/testkit/logtest"
)

// The output of the process: the log at the levels info and trace, traces, and /ready.
func TestOutputRealAPIServer(t *testing.T) {
	api := roleServer{kubetest.StartOwn(t, kubetest.Options{CRDs: "../../deploy/crds"}).Cluster}
	t.Run("info", api.testLogAtInfo)
	t.Run("trace", api.testLogAtTrace)
	t.Run("ready", api.testReadyNamesWhatToGrant)
}

// command is Signpost in a process of its own, with all roles.
type command struct {
	cmd *exec.Cmd
	log *logtest.Buffer
}

// startCommand starts the command with the Lease and all links in a namespace. more is added to the
// config file. kubeconfig replaces the default path unless it is empty.
func (api roleServer) startCommand(t *testing.T, b bind, ns, more, kubeconfig string) command {
	t.Helper()
	if kubeconfig == "" {
		kubeconfig = api.Kubeconfig
	}
	config := filepath.Join(t.TempDir(), "signpost.yaml")
	text := fmt.Sprintf(`apiVersion: signpost.dev/v1alpha1
kind: Config
kubeconfig: %s
admin: {address: "127.0.0.1:0"}
%s
destination: {addr: "127.0.0.1:0", controllerNamespace: %s}
controllers: {leaderElection: {resourceNamespace: %[3]s}}
dns:
  leaderElection: {resourceNamespace: %[3]s}
  publishers:
    - {name: zone, source: [service], namespace: %[3]s, policy: sync, provider: rfc2136, rfc2136-host: [127.0.0.1], rfc2136-port: %[4]s, rfc2136-zone: [example.test],
       rfc2136-axfr: true, rfc2136-tsig-keyname: k, rfc2136-tsig-secret: %[5]s, rfc2136-tsig-secret-alg: hmac-sha256, txt-owner-id: %[3]s}
`, kubeconfig, more, ns, strconv.Itoa(int(b.Addr.Port())), dnsSecret)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := command{cmd: exec.Command(os.Args[0], "--config="+config), log: &logtest.Buffer{}}
	// The log line about the memory limit depends on the machine.
	c.cmd.Env = append(os.Environ(), "SIGNPOST_TEST_AS_COMMAND=run", "GOMEMLIMIT=2GiB", "POD_NAMESPACE="+ns)
	c.cmd.Stderr = c.log
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.cmd.Process.Kill() })
	return c
}

// await waits until the log has a text.
func (c command) await(t *testing.T, pattern string) []string {
	t.Helper()
	var found []string
	kubetest.Eventually(t, deliveryTimeout, func() error {
		if found = regexp.MustCompile(pattern).FindStringSubmatch(c.log.String()); found == nil {
			return fmt.Errorf("no line matches %s in\n%s", pattern, c.log)
		}
		return nil
	})
	return found
}

func (c command) stop(t *testing.T) {
	t.Helper()
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, c.log)
	}
}

var quotedMessage = regexp.MustCompile(`(?m)^time=\S+ level=(\S+) msg=("[^"]*"|\S+)`)

// The test has the whole log of a process with all roles, from its start to its end. Before, 22 of
// the 39 lines of a start were useless to an operator (B11).
func (api roleServer) testLogAtInfo(t *testing.T) {
	ns := api.Namespace(t)
	b := startBIND(t, "")
	api.Apply(t, published("a", "192.0.2.1")+"---"+podsOfWeb, ns)
	c := api.startCommand(t, b, ns, "", "")
	b.await(t, "a", "192.0.2.1")
	api.await(t, ns, "web", endpointsOfPods, "10.1.0.1")
	c.await(t, "Changed a record")
	c.stop(t)
	// The API server fails for a moment with kinds that it has only just got.
	text := regexp.MustCompile(`(?m)^.*(storage is \(re\)initializing|The kind is in sync again).*\n`).ReplaceAllString(c.log.String(), "")
	var got []string
	for _, m := range quotedMessage.FindAllStringSubmatch(text, -1) {
		got = append(got, m[1]+" "+m[2])
	}
	slices.Sort(got)
	want := []string{
		`info "Changed a record"`,
		`info "Stopped leading"`, `info "Stopped leading"`,
		`info Leading`, `info Leading`,
		`info Serving`,
		`info Stopped`,
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("messages (-want +got):\n%s\n%s", diff, c.log)
	}
	if strings.Count(text, "\n") != len(got) {
		t.Errorf("the log has other lines:\n%s", c.log)
	}
	c.await(t, `msg="Changed a record" publisher=zone zone=example.test change="create a.example.test A \[192.0.2.1\]" object=service/`+ns+`/a`)
}

// spanNames collects the names of the spans that come, with some of their attributes.
type spanNames struct {
	collectorpb.UnimplementedTraceServiceServer
	mu    sync.Mutex
	spans []string
}

// Export implements the service of OpenTelemetry collectors.
func (s *spanNames) Export(_ context.Context, in *collectorpb.ExportTraceServiceRequest) (*collectorpb.ExportTraceServiceResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, of := range in.GetResourceSpans() {
		for _, scope := range of.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				line := span.GetName()
				for _, a := range span.GetAttributes() {
					if v := a.GetValue().GetStringValue(); v != "" {
						line += " " + a.GetKey() + "=" + v
					} else {
						line += fmt.Sprintf(" %s=%d", a.GetKey(), a.GetValue().GetIntValue())
					}
				}
				s.spans = append(s.spans, line)
			}
		}
	}
	return &collectorpb.ExportTraceServiceResponse{}, nil
}

func startCollector(t *testing.T) (*spanNames, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, server := &spanNames{}, grpc.NewServer()
	collectorpb.RegisterTraceServiceServer(server, s)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l)
	}()
	t.Cleanup(func() {
		server.Stop()
		<-done
	})
	return s, l.Addr().String()
}

// wantSpan checks that a span matches.
func (s *spanNames) wantSpan(t *testing.T, pattern string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.ContainsFunc(s.spans, regexp.MustCompile("^"+pattern+"$").MatchString) {
		t.Errorf("no span matches %s:\n%s", pattern, strings.Join(s.spans, "\n"))
	}
}

// Secrets that a process reads or is given, none of which belongs into a log.
const (
	plantedToken = "planted-token-of-the-kubeconfig"
	plantedLink  = "planted-token-of-a-linked-cluster"
)

// At the lowest level, the log has all queries, responses, applied objects, syncs and publications,
// and no secret. The traces, which a collector gets by the end, have the same.
func (api roleServer) testLogAtTrace(t *testing.T) {
	ns := api.Namespace(t)
	b := startBIND(t, "")
	collector, address := startCollector(t)
	path := api.KubeconfigAs(t, func(info *clientcmdapi.AuthInfo) {
		info.Token = plantedToken // the API server believes the client certificate
	})
	api.Apply(t, published("a", "192.0.2.1")+"---"+podsOfWeb+`
---
apiVersion: v1
kind: Secret
metadata: {name: to-east, labels: {multicluster.linkerd.io/cluster-name: east}, annotations: {multicluster.linkerd.io/trust-domain: east, multicluster.linkerd.io/cluster-domain: cluster.local}}
type: mirror.linkerd.io/remote-kubeconfig
stringData:
  kubeconfig: |
    {apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}], users: [{name: u, user: {token: `+plantedLink+`}}], contexts: [{name: c, context: {cluster: c, user: u}}]}
`, ns)
	c := api.startCommand(t, b, ns, "log: {level: trace}\ntraces: {collector: \""+address+"\"}", path)
	b.await(t, "a", "192.0.2.1")
	api.await(t, ns, "web", endpointsOfPods, "10.1.0.1")
	conn, err := grpc.NewClient(c.await(t, `msg=Serving .*grpc=(\S+)`)[1], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	// The slice of web can reach the process after the Endpoints were seen above: a call that began
	// earlier has one response more than the log lines below say.
	kubetest.Eventually(t, deliveryTimeout, func() error {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		stream, err := pb.NewDestinationClient(conn).Get(ctx, &pb.GetDestination{Path: "web." + ns + ".svc.cluster.local:80", ContextToken: `{"ns":"` + ns + `","pod":"cart-0"}`})
		if err != nil {
			return err
		}
		first, err := stream.Recv()
		if err == nil && len(first.GetAdd().GetAddrs()) != 1 {
			return fmt.Errorf("the first response is %v, not one added endpoint", first)
		}
		return err
	})
	service := `web\.` + ns + `\.svc\.cluster\.local:80`
	c.await(t, `level=debug msg="Call started" call=\d+ method=Get path=`+service+` client=127.0.0.1:\d+ namespace=`+ns+` pod=cart-0 node=""`)
	c.await(t, `level=debug msg="Response sent" call=\d+ method=Get path=`+service+` endpoints=1 added=1 removed=0 exists=true version=\d+`)
	c.await(t, `level=debug msg="Call ended" call=\d+ method=Get path=`+service+` status=OK reason="the client disconnected" messages=1 added=1 removed=0 lasted=`)
	c.await(t, `level=debug msg="Objects are applied" changes=\d+ services=\d+ staleServices=\d+ staleWatches=\d+ took=`)
	c.await(t, `level=debug msg="Service synced" controller=endpoint_slice service=`+ns+`/web created=1 updated=0 deleted=0 failed=0 took=`)
	c.await(t, `level=debug msg="Names are planned" publisher=zone zone=example.test names=1 toChange=1 `)
	c.await(t, `level=debug msg="Batch is applied" publisher=zone zone=example.test created=2 updated=0 deleted=0 took=`)
	c.await(t, `level=debug msg="Event is sent" kind=Service namespace=`+ns+` name=a type=Normal reason=RecordReady`)
	c.await(t, `level=debug msg="The kind is in sync"`)
	c.stop(t)
	text := []byte(c.log.String())
	for what, secret := range map[string]string{"the TSIG secret": dnsSecret, "the token of the kubeconfig": plantedToken, "the token of a linked cluster": plantedLink} {
		if bytes.Contains(text, []byte(secret)) {
			t.Errorf("the log has %s", what)
		}
	}
	collector.wantSpan(t, `destination.Get rpc.method=Get signpost.authority=`+service+` client.address=127.0.0.1:\d+ signpost.client.namespace=`+ns+
		` signpost.client.pod=cart-0 signpost.client.node=\S+ rpc.grpc.status=OK signpost.messages.sent=1 signpost.endpoints.added=1 signpost.endpoints.removed=0`)
	collector.wantSpan(t, `controllers.sync signpost.controller=endpoint_slice signpost.service=`+ns+`/web signpost.created=1 signpost.updated=0 signpost.deleted=0 signpost.failed=0`)
	collector.wantSpan(t, `dns.apply signpost.publisher=zone signpost.provider=rfc2136 signpost.zone=example.test signpost.created=2 signpost.updated=0 signpost.deleted=0`)
}

// For a forbidden kind, /ready and the log name the verb, the API group and the resource, and what
// to grant. Before, /ready had the kind alone and left out Secrets, and the log said that the kind
// doesn't exist (B2, B3).
func (api roleServer) testReadyNamesWhatToGrant(t *testing.T) {
	ns := api.Namespace(t)
	c := api.destinationConfig(ns)
	// A user without any role.
	c.Process.Kubeconfig = api.kubeconfigOf(t, ns, "destination")
	log := &logtest.Buffer{}
	s := serveConfigWith(t, c, slog.New(slog.NewTextHandler(log, nil)))
	kubetest.Eventually(t, deliveryTimeout, func() error {
		_, body := s.fetch(t, "/ready")
		for _, want := range []string{
			"\npods: waiting forbidden: grant list and watch on pods to this process: failed to list pods: pods is forbidden: User \"user-of-" + ns + "\" cannot list resource \"pods\" in API group \"\" at the cluster scope\n",
			"\nexternalworkloads.workload.linkerd.io: waiting forbidden: grant list and watch on externalworkloads.workload.linkerd.io to this process: ",
			"\nsecrets: waiting forbidden: grant list and watch on secrets to this process: ",
		} {
			if !strings.Contains(body, want) {
				return fmt.Errorf("/ready lacks %q:\n%s", want, body)
			}
		}
		return nil
	})
	s.stop(t)
	if text := log.String(); !strings.Contains(text, `level=WARN msg="This process may not read the kind, and tries again every few seconds: grant it list and watch" cluster=local kind=externalworkload objects=0 resource=externalworkloads.workload.linkerd.io err="`) ||
		strings.Contains(text, "lacks the kind") {
		t.Errorf("log:\n%s", text)
	}
}

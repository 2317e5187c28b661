package process

import (
	"context"
	"fmt"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/testkit/kubetest"
)

// deliveryTimeout bounds how long a change may take from the API server to a client.
const deliveryTimeout = 30 * time.Second

// TestScenariosOnAPIServer plays the scenarios to the role as the command runs it. The objects are
// written to a real API server, which validates them and sets their defaults. Their order isn't
// fixed, so a change may take any number of messages; only the final state of clients is compared.
func TestScenariosOnAPIServer(t *testing.T) {
	api := kubetest.StartOwn(t, kubetest.Options{CRDs: "../../deploy/crds"})
	for _, s := range readScenarios(t) {
		t.Run(s.name, func(t *testing.T) {
			switch {
			case s.memoryOnly != "":
				t.Skip(s.memoryOnly)
			case s.waitsForSync:
				t.Skip("the test can't say when the cluster is known")
			}
			s.playServed(t, api.Cluster, s.play(t))
		})
	}
}

// playServed plays the scenario to a role of its own.
func (s *scenario) playServed(t *testing.T, api *kubetest.Cluster, want []outcome) {
	t.Helper()
	p := &servedPlayer{writer: objectWriter{api}, names: scenarioNames{ns: api.Namespace(t), other: api.Namespace(t)}}
	p.start(t, s.options)
	defer p.end(t)
	for i, step := range s.steps {
		settled := len(p.clients)
		for _, a := range step.actions {
			p.act(t, a)
		}
		kubetest.Eventually(t, deliveryTimeout, func() error {
			// A client without an answer looks like one that was told that there is nothing.
			if c := p.clients.unanswered(); c != nil {
				return fmt.Errorf("step %d of %d, after %s: stream %s has no answer", i+1, len(s.steps), step.describe(), c.name)
			}
			diff := gocmp.Diff(want[i].known, p.names.symbolic(p.clients.known()))
			if diff == "" {
				return nil
			}
			p.reopen(p.clients[settled:])
			return fmt.Errorf("step %d of %d, after %s, clients know (-want +got):\n%s", i+1, len(s.steps), step.describe(), diff)
		})
	}
}

// servedPlayer is a role and its clients.
type servedPlayer struct {
	writer  objectWriter
	names   scenarioNames
	server  served
	conn    *grpc.ClientConn
	clients scenarioClients
}

func (p *servedPlayer) start(t *testing.T, o settings.Destination) {
	t.Helper()
	// There must be no slices but those of the scenario.
	o.ExternalWorkloadWriter = false
	c := settings.Default()
	c.RunsDestination, c.Destination, c.Process.Kubeconfig = true, o, p.writer.Kubeconfig
	p.server = serveConfig(t, c)
	var err error
	if p.conn, err = grpc.NewClient(p.server.grpc, grpc.WithTransportCredentials(insecure.NewCredentials())); err != nil {
		t.Fatal(err)
	}
}

func (p *servedPlayer) end(t *testing.T) {
	t.Helper()
	for _, c := range p.clients {
		c.cancel()
		if err := c.wrong(); err != nil {
			t.Errorf("stream %s: %v", c.name, err)
		}
	}
	p.conn.Close()
	p.server.cancel()
	if err := <-p.server.done; err != nil {
		t.Error(err)
	}
}

func (p *servedPlayer) act(t *testing.T, a scenarioAction) {
	t.Helper()
	switch a.verb {
	case "apply":
		for _, o := range a.manifests(t, p.names) {
			p.writer.Apply(t, string(o.text), o.namespace)
			p.writer.afterwards(t, o.objectName)
		}
	case "delete":
		for _, o := range a.objects(t, p.names) {
			p.writer.erase(t, o)
		}
	case "get", "profile":
		p.clients = append(p.clients, p.open(a.stream(p.names)))
	case "close":
		p.clients.close(t, a.name)
	case "stop":
		p.server.cancel()
	}
}

func (p *servedPlayer) open(s scenarioStream) *scenarioClient {
	return openScenarioClient(pb.NewDestinationClient(p.conn), s)
}

// reopen opens the streams of clients with a response or an error again, as proxies do, because the
// object may have been unknown before.
func (p *servedPlayer) reopen(clients scenarioClients) {
	for i, c := range clients {
		if c.answered() {
			c.cancel()
			clients[i] = p.open(c.scenarioStream)
		}
	}
}

// objectWriter writes to an API server.
type objectWriter struct{ *kubetest.Cluster }

func (w objectWriter) client(n objectName) dynamic.ResourceInterface {
	if n.kind.global {
		return w.Dynamic.Resource(n.kind.resource)
	}
	return w.Dynamic.Resource(n.kind.resource).Namespace(n.namespace)
}

func (w objectWriter) erase(t *testing.T, n objectName) {
	t.Helper()
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
	if err := w.client(n).Delete(context.Background(), n.name, now); err != nil {
		t.Fatalf("delete %v: %v", n, err)
	}
}

// afterwards deletes an object at the end of the test if it belongs to no namespace and still
// exists: it would disturb the next scenario.
func (w objectWriter) afterwards(t *testing.T, n objectName) {
	t.Helper()
	if !n.kind.global {
		return
	}
	t.Cleanup(func() {
		if _, err := w.client(n).Get(context.Background(), n.name, metav1.GetOptions{}); err == nil {
			w.erase(t, n)
		}
	})
}

package process

import (
	"fmt"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/testkit/kubetest"
	"github.com/signpostd/signpost/testkit/longtest"
)

// scenariosServed plays the scenarios to the role as the command runs it. The order of objects
// isn't fixed, so a change may take any number of messages; only the final state of clients is
// compared.
func scenariosServed(t *testing.T, api *kubetest.Cluster) {
	all := readScenarios(t)
	// All are also played in memory and from tables: -short needs the gRPC server and the flags only.
	every := len(all) / longtest.Rounds(len(all))
	for i, s := range all {
		t.Run(s.name, func(t *testing.T) {
			switch {
			case i%every != 0:
				t.Skip("only in make test-long")
			case s.memoryOnly != "":
				t.Skip(s.memoryOnly)
			case s.waitsForSync:
				t.Skip("the test can't say when the cluster is known")
			}
			s.playServed(t, api, s.playInMemory(t))
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
	body := p.names.real(a.body)
	switch a.verb {
	case "apply":
		objects, err := manifestsOf(body, p.names.ns)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects {
			p.writer.write(t, o)
			p.writer.afterwards(t, o.objectName, func() { p.writer.erase(t, o.objectName) })
		}
	case "delete":
		objects, err := namesOf(body, p.names.ns)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects {
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

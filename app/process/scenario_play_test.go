package process

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/destination"
	"github.com/signpostd/signpost/internal/objectmeta"
	"github.com/signpostd/signpost/kube/kinds"
)

// endpointsFrom says which kind the options read endpoints from.
func endpointsFrom(o settings.Destination) kinds.EndpointsFrom {
	if o.EnableEndpointSlices {
		return kinds.FromEndpointSlices
	}
	return kinds.FromEndpoints
}

// scenarioNames are the real names of a scenario's namespaces.
type scenarioNames struct{ ns, other string }

func (n scenarioNames) real(text string) string {
	return strings.NewReplacer("$NS", n.ns, "$OTHER", n.other).Replace(text)
}

func (n scenarioNames) symbolic(text string) string {
	return strings.NewReplacer(n.ns, "$NS", n.other, "$OTHER").Replace(text)
}

// outcome is what a step has led to.
type outcome struct {
	// transcript is all that streams received since the step before, and known what they know
	// now.
	transcript, known string
}

// play plays a scenario to a server with real streams and trims its objects in memory. It returns
// the outcome of each step. It runs in a bubble of synctest, in which it is certain that nothing
// more will happen.
func (s *scenario) play(t *testing.T) []outcome {
	t.Helper()
	names := scenarioNames{ns: "namespace-of-scenario", other: "another-namespace"}
	happened := make([]outcome, len(s.steps))
	synctest.Test(t, func(t *testing.T) {
		p := newPlayer(t, s.options)
		defer p.close()
		if !s.waitsForSync {
			p.catalog.MarkSynced()
		}
		for i, step := range s.steps {
			for _, a := range step.actions {
				p.act(t, a, names)
			}
			happened[i] = outcome{names.symbolic(p.transcript()), names.symbolic(p.clients.known())}
			if wrong := names.symbolic(p.compareWithNewStreams()); wrong != "" {
				t.Errorf("step %d of %d, after %s: %s", i+1, len(s.steps), step.describe(), wrong)
			}
		}
	})
	return happened
}

// player is a server and its clients.
type player struct {
	// from is the kind that endpoints are read from, and there has the objects that were applied.
	from    kinds.EndpointsFrom
	there   map[string]bool
	catalog *catalog.Catalog
	client  pb.DestinationClient
	clients scenarioClients
	// close ends everything and waits for it; stop ends the server.
	close, stop func()

	mu       sync.Mutex
	problems []string
	reported int // the number of problems that were in a transcript
}

func newPlayer(t *testing.T, o settings.Destination) *player {
	t.Helper()
	p := &player{from: endpointsFrom(o), there: map[string]bool{}}
	opaque, _ := catalog.ParsePortList(o.DefaultOpaquePorts)
	p.catalog = catalog.New(catalog.Options{DefaultOpaquePorts: opaque})
	config, err := destinationConfig(&o, p.report, nil)
	if err != nil {
		t.Fatal(err)
	}
	server := destination.NewServer(p.catalog, config, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	grpcServer := grpc.NewServer(server.ServerOptions()...)
	server.Register(grpcServer)
	listener := bufconn.Listen(1 << 20)
	conn, err := grpc.NewClient("passthrough:///bubble", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	p.client = pb.NewDestinationClient(conn)

	// In scenarios the catalog outlives the server.
	ctx, cancel := context.WithCancel(context.Background())
	serving, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { _ = p.catalog.Run(ctx) })
	running.Go(func() { _ = server.Run(serving) })
	running.Go(func() { _ = grpcServer.Serve(listener) })
	p.stop = stop
	p.close = func() {
		cancel()
		for _, c := range p.clients {
			c.cancel()
		}
		conn.Close()
		grpcServer.Stop()
		running.Wait()
	}
	return p
}

// settle waits, in a bubble, until nothing more happens by itself.
func settle() {
	time.Sleep(time.Second) // virtual, and longer than any delay of the program
	synctest.Wait()
}

func (p *player) report(problem objectmeta.Problem) {
	text := fmt.Sprintf("problem %s %s/%s %s: %s\n", problem.Kind, problem.Namespace, problem.Name, problem.Field, problem.Reason)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Contains(p.problems, text) {
		p.problems = append(p.problems, text)
	}
}

// act does what a section says.
func (p *player) act(t *testing.T, a scenarioAction, names scenarioNames) {
	t.Helper()
	switch a.verb {
	case "apply":
		p.apply(t, a.manifests(t, names))
	case "delete":
		p.remove(t, a.objects(t, names))
	case "get", "profile":
		p.clients = append(p.clients, openScenarioClient(p.client, a.stream(names)))
	case "close":
		p.clients.close(t, a.name)
	case "sync":
		p.catalog.MarkSynced()
	case "stop":
		p.stop()
	}
	settle()
}

// transcript returns what is new: what each stream got, then the problems.
func (p *player) transcript() string {
	var text strings.Builder
	for _, c := range p.clients {
		text.WriteString(c.take())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	fresh := slices.Sorted(slices.Values(p.problems[p.reported:]))
	p.reported = len(p.problems)
	return text.String() + strings.Join(fresh, "")
}

// compareWithNewStreams checks that each stream has the same state as a new stream, and that the
// new stream changes nothing for the others. It returns the differences.
func (p *player) compareWithNewStreams() string {
	var wrong strings.Builder
	for _, c := range p.clients {
		if c.ended() {
			continue
		}
		newcomer := openScenarioClient(p.client, c.scenarioStream)
		settle()
		if diff := c.differsFrom(newcomer); diff != "" {
			fmt.Fprintf(&wrong, "stream %s knows something else than a new one (-live +new):\n%s", c.name, diff)
		}
		newcomer.cancel()
		settle()
	}
	for _, c := range p.clients {
		if text := c.take(); !c.ended() && text != c.name+": nothing\n" {
			fmt.Fprintf(&wrong, "because of a new stream, another one was sent:\n%s", text)
		}
		if err := c.wrong(); err != nil {
			fmt.Fprintf(&wrong, "stream %s: %v\n", c.name, err)
		}
	}
	return wrong.String()
}

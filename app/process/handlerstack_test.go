package process

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"runtime"
	"testing"
	"time"

	corepb "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoverypb "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/destination"
	"github.com/signpostd/signpost/internal/run"
	"github.com/signpostd/signpost/testkit/racetest"
	"github.com/signpostd/signpost/xds"
	"github.com/signpostd/signpost/xds/resource"
)

// A handler that waits keeps a stack of 4 kB, below all interceptors of the process (decision
// 0071), and so does the goroutine that receives the requests of an xDS stream. Stacks grow by
// doubling, so one frame too many costs 4 kB for each open stream. A few may be interrupted where
// they need more.
func TestStackOfHandlers(t *testing.T) {
	const streams = 2000
	get := &pb.GetDestination{Path: "web.ns.svc.cluster.local:80", ContextToken: `{"ns":"ns","nodeName":"n","pod":"p"}`}
	for name, tt := range map[string]struct {
		path    string
		request proto.Message
		serve   func(*catalog.Catalog, prometheus.Registerer, *slog.Logger) server
		limit   int
	}{
		"Get":        {"/io.linkerd.proxy.destination.Destination/Get", get, serveDestination, 6 << 10},
		"GetProfile": {"/io.linkerd.proxy.destination.Destination/GetProfile", get, serveDestination, 6 << 10},
		"xDS": {
			"/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources",
			&discoverypb.DiscoveryRequest{Node: &corepb.Node{UserAgentName: "gRPC Go"}, TypeUrl: resource.EndpointsURL, ResourceNames: []string{get.GetPath()}},
			serveXDS, 10 << 10,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if racetest.Enabled {
				tt.limit *= 2
			}
			c := &rawClient{path: tt.path, stays: name == "xDS", last: ^uint32(0)} // the first stream is 1
			c.conn = serveCatalog(t, tt.serve)
			c.begin(t)
			c.ask(t, tt.request, 10) // what is made once
			before := stacksInUse()
			c.ask(t, tt.request, streams)
			if each := (stacksInUse() - before) / streams; each > tt.limit {
				t.Errorf("each stream keeps %d bytes of stack, want at most %d", each, tt.limit)
			}
		})
	}
}

// server is the gRPC server of a role.
type server interface {
	ServerOptions() []grpc.ServerOption
	Listener(net.Listener) net.Listener
	Register(grpc.ServiceRegistrar)
	Run(context.Context) error
}

func serveDestination(known *catalog.Catalog, r prometheus.Registerer, log *slog.Logger) server {
	return destination.NewServer(known, destination.Config{ClusterDomain: "cluster.local"}, r, log)
}

func serveXDS(known *catalog.Catalog, r prometheus.Registerer, log *slog.Logger) server {
	return xds.NewServer(known, xds.Config{}, r, log)
}

// stacksInUse returns the bytes of all stacks after those that may shrink have done so.
func stacksInUse() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.StackInuse)
}

// serveCatalog serves the Service web as a process does, and returns a connection to it.
func serveCatalog(t *testing.T, serve func(*catalog.Catalog, prometheus.Registerer, *slog.Logger) server) net.Conn {
	t.Helper()
	known := catalog.New(catalog.Options{})
	known.Put(&catalog.Service{
		Key:   catalog.ServiceKey{Cluster: catalog.LocalCluster, Namespace: "ns", Name: "web"},
		Ports: []catalog.ServicePort{{Name: "http", Port: 80, Protocol: catalog.TCP}},
	})
	registry, log := prometheus.NewRegistry(), slog.New(slog.DiscardHandler)
	server := serve(known, registry, log)
	of := grpcServer{Options: server.ServerOptions(), Register: server.Register, Listener: server.Listener}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	how := serving{options: settings.Process{ShutdownGrace: time.Second}, log: log, registry: registry}
	actor := of.actor(newInterceptors(how), how, l)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	var actors run.Group
	for _, a := range []run.Actor{actor, {Name: "catalog", Run: known.Run}, {Name: "server", Run: server.Run}} {
		actors.Add(a)
	}
	go func() { ended <- actors.Run(ctx) }()
	known.MarkSynced()
	<-known.Synced()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return conn
}

// rawClient writes frames of HTTP/2 itself, so that its streams have no goroutines in this process.
type rawClient struct {
	path    string
	stays   bool // the client may send more requests
	conn    net.Conn
	framer  *http2.Framer
	block   bytes.Buffer
	encoder *hpack.Encoder
	last    uint32
}

func (c *rawClient) begin(t *testing.T) {
	t.Helper()
	c.framer, c.encoder = http2.NewFramer(c.conn, c.conn), hpack.NewEncoder(&c.block)
	if _, err := io.WriteString(c.conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	if err := c.framer.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	if err := c.framer.WriteWindowUpdate(0, 1<<30); err != nil {
		t.Fatal(err)
	}
}

// ask opens streams one after the other: each has its first answer when the next one is opened.
func (c *rawClient) ask(t *testing.T, m proto.Message, streams int) {
	t.Helper()
	request, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	message := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(request))), request...)
	for range streams {
		c.last += 2
		c.block.Reset()
		for _, f := range []hpack.HeaderField{
			{Name: ":method", Value: "POST"},
			{Name: ":scheme", Value: "http"},
			{Name: ":path", Value: c.path},
			{Name: "content-type", Value: "application/grpc"},
			{Name: "te", Value: "trailers"},
		} {
			_ = c.encoder.WriteField(f) // a bytes.Buffer takes all
		}
		if err := c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: c.last, BlockFragment: c.block.Bytes(), EndHeaders: true}); err != nil {
			t.Fatal(err)
		}
		if err := c.framer.WriteData(c.last, !c.stays, message); err != nil {
			t.Fatal(err)
		}
		c.awaitAnswer(t)
	}
}

// awaitAnswer reads frames up to the message of the last stream.
func (c *rawClient) awaitAnswer(t *testing.T) {
	t.Helper()
	for {
		frame, err := c.framer.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		switch f := frame.(type) {
		case *http2.DataFrame:
			if f.StreamID == c.last {
				return
			}
		case *http2.HeadersFrame:
			if f.StreamEnded() {
				t.Fatalf("stream %d of %s ended", f.StreamID, c.path)
			}
		}
	}
}

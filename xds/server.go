package xds

import (
	"context"
	"log/slog"
	"net"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/channel"
	"github.com/signpostd/signpost/internal/clientlimits"
	"github.com/signpostd/signpost/internal/precoded"
	"github.com/signpostd/signpost/internal/streams"
	"github.com/signpostd/signpost/xds/auth"
	"github.com/signpostd/signpost/xds/resource"
)

// Server serves xDS from a catalog. Make it with [NewServer].
type Server struct {
	catalog     *catalog.Catalog
	config      *Config
	log         *slog.Logger
	topics      streams.Map[query, *topic]
	listings    streams.Map[coverage, *sharedListing]
	workers     workers
	clients     *clientlimits.Clients
	connections *clientlimits.Connections
	budgets     budgets
	metrics     *metrics
	rejections  rejections
	refusals    *clientlimits.RefusalLog
	leftOut     rate.Sometimes // limits the log lines about Clusters that a wildcard lacks
	unproved    rate.Sometimes // limits the log lines about clients without valid authentication
	opened      atomic.Uint64  // counts the streams
	streams     streams.Set[*stream]
	// calls are those of the streams, with the goroutines that receive requests and those of topics
	// and listings.
	calls *streams.Calls
}

// NewServer returns a server for the catalog, with its metrics registered with r. It serves through
// a gRPC server that was made with ServerOptions, passed to Register and serves on a Listener; and
// Run has to run at the same time.
func NewServer(c *catalog.Catalog, config Config, r prometheus.Registerer, log *slog.Logger) *Server {
	config = config.withDefaults()
	s := &Server{
		catalog: c,
		config:  &config,
		log:     log,
		rejections: rejections{
			log: log, report: config.Rejected, lines: rate.NewLimiter(lineRate, lineBurst), events: rate.NewLimiter(eventRate, eventBurst), seen: map[rejection]struct{}{},
		},
		refusals: clientlimits.NewRefusalLog(log),
		leftOut:  rate.Sometimes{First: 1, Interval: logInterval},
		unproved: rate.Sometimes{First: 1, Interval: logInterval},
		workers:  workers{slots: runtime.GOMAXPROCS(0)},
		calls:    streams.NewCalls(),
	}
	s.clients = clientlimits.NewClients(&config.Limits, s.refusedClient)
	s.connections = clientlimits.NewConnections(&config.Limits, s.refused, log)
	s.metrics = newMetrics(s, r)
	return s
}

// ServerOptions returns the options of the gRPC server: codec, credentials and limits of clients.
func (s *Server) ServerOptions() []grpc.ServerOption {
	limits := &s.config.Limits
	options := append(limits.ServerOptions(), clientlimits.KeepHeaders(s.refusedClient, auth.Headers()...), grpc.ForceServerCodecV2(precoded.NewCodec()), grpc.KeepaliveParams(keepalive.ServerParameters{
		MaxConnectionIdle: limits.MaxConnectionIdle, MaxConnectionAge: s.config.MaxConnectionAge, MaxConnectionAgeGrace: connectionGrace,
	}))
	if s.config.TLS != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(s.config.TLS)))
	}
	return options
}

// logInterval is the shortest time between two lines about clients with one kind of fault.
const logInterval = 10 * time.Second

// connectionGrace is the time for which streams continue after MaxConnectionAge. A client that has
// had a response sees no error when its stream ends.
const connectionGrace = 10 * time.Second

// Listener returns a listener that enforces the limits of connections, and closes connections until
// the catalog is synced.
func (s *Server) Listener(l net.Listener) net.Listener {
	return s.connections.Listener(syncedListener{l, s})
}

// syncedListener closes connections until the catalog is synced (§6.11). A client tries the other
// addresses of the server after a closed connection, but not after a refused stream.
type syncedListener struct {
	net.Listener
	server *Server
}

// Accept implements [net.Listener].
func (l syncedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil || channel.IsClosed(l.server.catalog.Synced()) {
			return c, err
		}
		l.server.refused(refusedUnsynced)
		_ = c.Close()
	}
}

// Register adds the xDS services to a gRPC server.
func (s *Server) Register(r grpc.ServiceRegistrar) {
	for _, a := range apis {
		d := &grpc.ServiceDesc{ServiceName: a.service, HandlerType: (*any)(nil)}
		for method, variant := range map[string]string{"Stream" + a.methods: variantSotW, "Delta" + a.methods: variantDelta} {
			d.Streams = append(d.Streams, grpc.StreamDesc{
				StreamName: method, ServerStreams: true, ClientStreams: true,
				Handler: func(_ any, out grpc.ServerStream) error { return s.serve(out, variant, a.only) },
			})
		}
		r.RegisterService(d, s)
	}
}

// Run limits what clients don't read until the context ends. Then it ends all streams with the
// status OK, and returns when they have ended. The gRPC server has to be stopped at the same time,
// and has to cut off clients that don't read. Run is called once.
func (s *Server) Run(ctx context.Context) error {
	s.connections.LimitUnread(ctx, s.blocked)
	s.calls.Stop()
	s.calls.Wait()
	return nil
}

// blocked returns all open streams. The memory that a stream holds is counted with its messages, so
// Holds is empty.
func (s *Server) blocked(now time.Time) (list []clientlimits.Blocked) {
	for _, st := range s.streams.All() {
		list = append(list, clientlimits.Blocked{Connection: st.call.Connection(), For: st.lag.At(now)})
	}
	return list
}

func (s *Server) refused(why clientlimits.Refusal) {
	s.metrics.refused.WithLabelValues(string(why)).Inc()
}

// refusedClient counts a refusal, and logs whose it is.
func (s *Server) refusedClient(why clientlimits.Refusal, client clientlimits.ClientID) {
	s.refused(why)
	s.refusals.Refused(why, client)
}

func (s *Server) serve(out grpc.ServerStream, variant, only string) error {
	st := s.newStream(out, variant, only)
	if begun, err := s.begin(st); !begun {
		return err
	}
	defer func() {
		st.close()
		st.call.End(out.Context(), func() { s.clients.EndStream(st.client.id) })
		s.streams.Remove(st)
		s.calls.End()
		if st.panicked != nil {
			panic(st.panicked)
		}
	}()
	return st.run()
}

// begin counts a stream, unless it is refused or the server has stopped. It has a frame of its own,
// because the stack of the handler is kept while the stream is open. The error is a status.
func (s *Server) begin(st *stream) (begun bool, err error) {
	if s.config.Authenticate != nil {
		if st.client.identity, err = s.config.Authenticate(st.ctx); err != nil {
			s.refused(refusedIdentity)
			s.unproved.Do(func() {
				s.log.Warn("Refused a client that didn't prove who it is", "client", st.client.peer.String(), "err", status.Convert(err).Message())
			})
			return false, err
		}
	}
	if !s.calls.Begin() {
		return false, nil
	}
	if err := s.clients.BeginStream(st.client.id); err != nil {
		s.calls.End()
		return false, err
	}
	s.streams.Add(st)
	return true, nil
}

type resourceType = resource.Type

// The types of resource, in the order in which changes are sent (§6.6).
const (
	clusters      = resource.Cluster
	endpoints     = resource.Endpoints
	listeners     = resource.Listener
	routes        = resource.RouteConfiguration
	resourceTypes = routes + 1 // how many there are
)

// Variants of the protocol, as metrics call them.
const (
	variantSotW  = "sotw"
	variantDelta = "delta"
)

// apis are the gRPC services (§1.2): the aggregated one, and those with one type. The packages of
// their generated code would add the messages of all resources to the program.
var apis = []struct{ service, methods, only string }{
	{"envoy.service.discovery.v3.AggregatedDiscoveryService", "AggregatedResources", ""},
	{"envoy.service.cluster.v3.ClusterDiscoveryService", "Clusters", resource.ClusterURL},
	{"envoy.service.endpoint.v3.EndpointDiscoveryService", "Endpoints", resource.EndpointsURL},
	{"envoy.service.listener.v3.ListenerDiscoveryService", "Listeners", resource.ListenerURL},
	{"envoy.service.route.v3.RouteDiscoveryService", "Routes", resource.RouteConfigurationURL},
}

package destination

import (
	"context"
	"log/slog"
	"net"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/channel"
	"github.com/signpostd/signpost/internal/clientlimits"
	"github.com/signpostd/signpost/internal/precoded"
	"github.com/signpostd/signpost/internal/sanitize"
	"github.com/signpostd/signpost/internal/streams"
)

// Server serves the Destination API from a catalog. Make it with [NewServer].
type Server struct {
	pb.UnimplementedDestinationServer

	catalog        *catalog.Catalog
	config         *Config
	log            *slog.Logger
	refusals       *clientlimits.RefusalLog
	topics         *topics
	profiles       *profileViews
	getStreams     streams.Set[*stream]
	profileStreams streams.Set[*profileStream]
	clients        *clientlimits.Clients
	connections    *clientlimits.Connections
	metrics        *metrics
	// tokens limits the rate of log lines about invalid tokens.
	tokens rate.Sometimes

	// opened counts the streams.
	opened atomic.Uint64

	calls   *streams.Calls
	workers workers
	// opening limits the number of streams that are being opened.
	opening chan struct{}
	// callIDs counts the calls that are logged or traced.
	callIDs atomic.Uint64
}

// NewServer returns a server for the catalog, and registers its metrics with r. To serve, the caller
//
//   - makes a gRPC server with ServerOptions,
//   - passes it to Register,
//   - lets it serve on a Listener,
//   - runs Run at the same time.
func NewServer(c *catalog.Catalog, config Config, r prometheus.Registerer, log *slog.Logger) *Server {
	config.Limits = config.Limits.WithDefaults()
	s := &Server{
		catalog:  c,
		config:   &config,
		log:      log,
		refusals: clientlimits.NewRefusalLog(log),
		tokens:   rate.Sometimes{First: 1, Interval: logInterval},
		calls:    streams.NewCalls(),
		opening:  make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)),
	}
	s.clients = clientlimits.NewClients(&config.Limits, s.refusedClient)
	s.connections = clientlimits.NewConnections(&config.Limits, s.refused, log)
	s.topics = &topics{catalog: c, config: s.config, clients: s.clients, refused: s.refusedClient, undeclared: map[portsOfClient]int{}}
	s.profiles = &profileViews{catalog: c, config: s.config, clients: s.clients}
	s.metrics = newMetrics(s, r)
	s.config.conflicts = newConflicts(s)
	return s
}

// logInterval is the time between two log lines about invalid tokens. The metric counts all of them.
const logInterval = 10 * time.Second

// Opened returns how many streams of both methods were opened so far.
func (s *Server) Opened() uint64 { return s.opened.Load() }

// ServerOptions returns the options of the gRPC server: the codec of encoded messages, and the limits of
// clients.
func (s *Server) ServerOptions() []grpc.ServerOption {
	return append(s.config.Limits.ServerOptions(),
		clientlimits.KeepHeaders(s.refusedClient), grpc.ForceServerCodecV2(precoded.NewCodec()), grpc.ChainStreamInterceptor(s.limitCall))
}

// refused counts a refused or ignored call, query or token, or a closed connection.
func (s *Server) refused(why clientlimits.Refusal) {
	s.metrics.refused.WithLabelValues(string(why)).Inc()
}

// refusedClient counts a refused call or query, and logs whose it is.
func (s *Server) refusedClient(why clientlimits.Refusal, client clientlimits.ClientID) {
	s.refused(why)
	s.refusals.Refused(why, client)
}

// Listener returns a listener that accepts as many connections as the limits allow.
func (s *Server) Listener(l net.Listener) net.Listener {
	return s.connections.Listener(l)
}

// Register adds the Destination API to a gRPC server.
func (s *Server) Register(r grpc.ServiceRegistrar) { pb.RegisterDestinationServer(r, s) }

// Run measures the lag of the streams, limits what their clients don't read, and follows address
// conflicts, until the context ends. Then it ends all streams with the status OK, and returns when
// they have ended. The caller stops the gRPC server at the same time, which also disconnects
// clients that don't read. Run is called once.
func (s *Server) Run(ctx context.Context) error {
	var running sync.WaitGroup
	running.Go(func() { s.connections.LimitUnread(ctx, s.blocked) })
	running.Go(func() { s.config.conflicts.follow(ctx) })
	s.metrics.sample(ctx)
	running.Wait()
	s.calls.Stop()
	s.topics.end()
	s.calls.Wait()
	s.topics.running.Wait()
	return nil
}

// Get implements the Destination API (§2): it sends the endpoints of a Service and their changes.
func (s *Server) Get(r *pb.GetDestination, out grpc.ServerStreamingServer[pb.Update]) error {
	return s.serve(&call{server: s, ctx: out.Context(), method: methodGet, request: r, out: out})
}

// openGet makes the stream of a Get call. The error is a status.
func (s *Server) openGet(c *call, a authority) error {
	path := c.request.GetPath()
	if a.ip.IsValid() {
		return status.Errorf(codes.InvalidArgument, "invalid authority %s: Get looks names up, not IP addresses; ask GetProfile", sanitize.Quote(path))
	}
	key := a.serviceKey()
	service, err := s.servable(key, path)
	if err != nil {
		return err
	}
	token := s.token(c.request)
	client := clientlimits.ClientIDFrom(c.ctx)
	topic, err := s.topics.acquire(query{service: key, port: a.port, hostname: a.hostname}, subscriber{client, !declares(service, a.port)})
	if err != nil {
		return err
	}
	st := &stream{server: s, topic: topic, node: token.Node, client: client, out: c.out, connection: s.connections.Of(c.ctx), caller: s.callerFrom(c.ctx, token), callLog: c.callLog}
	c.followed = st
	st.join()
	s.getStreams.Add(st)
	return nil
}

// GetProfile implements the Destination API (§3): it sends the profile of a Service or an address and its
// changes.
func (s *Server) GetProfile(r *pb.GetDestination, out grpc.ServerStreamingServer[pb.DestinationProfile]) error {
	return s.serve(&call{server: s, ctx: out.Context(), method: methodGetProfile, request: r, out: out})
}

// openProfile makes the stream of a GetProfile call. The error is a status.
func (s *Server) openProfile(c *call, a authority) error {
	token := s.token(c.request)
	q := catalog.ProfileQuery{
		Cluster:         catalog.LocalCluster,
		IP:              a.ip,
		Service:         a.serviceKey(),
		Hostname:        a.hostname,
		Port:            a.port,
		ClientNamespace: token.Namespace,
		ClusterDomain:   s.config.ClusterDomain,
	}
	if a.hostname != "" || a.namespace == q.ClientNamespace {
		q.ClientNamespace = "" // no difference, so that clients of all namespaces share a view
	}
	view, err := s.profiles.acquire(q, clientlimits.ClientIDFrom(c.ctx))
	if err != nil {
		return err
	}
	st := &profileStream{server: s, view: view, out: c.out, connection: s.connections.Of(c.ctx), node: token.Node, caller: s.callerFrom(c.ctx, token), callLog: c.callLog}
	c.followed = st
	view.latest()
	s.profileStreams.Add(st)
	return nil
}

// errAfterStop returns the status of a call that begins after the server has stopped: OK, as for open
// streams, or an error if the server stopped before the catalog was synced.
func (s *Server) errAfterStop() error {
	if channel.IsClosed(s.catalog.Synced()) {
		return nil
	}
	return errNeverSynced
}

// accept parses the authority of a call. The error is a status.
func (s *Server) accept(ctx context.Context, r *pb.GetDestination) (authority, error) {
	if n := len(r.GetPath()); n > maxPath {
		s.refusedClient(refusedPath, clientlimits.ClientIDFrom(ctx))
		return authority{}, status.Errorf(codes.InvalidArgument, "the path has %d bytes, and may have %d", n, maxPath)
	}
	a, err := parseAuthority(r.GetPath(), s.config.ClusterDomain)
	if err != nil {
		return authority{}, status.Error(codes.InvalidArgument, err.Error())
	}
	return a, nil
}

// token parses the context token of a call. An invalid token counts as empty.
func (s *Server) token(r *pb.GetDestination) contextToken {
	token, err := parseContextToken(r.GetContextToken())
	if err != nil {
		s.refused(refusedToken)
		// The token is not logged, because it may be crafted to forge log lines.
		s.tokens.Do(func() {
			s.log.Warn("Ignored an invalid context token", "bytes", len(r.GetContextToken()), "err", err)
		})
	}
	return token
}

// ready waits until the catalog is synced, because responses could be wrong before. It returns false if the
// call or the server ends first.
func (s *Server) ready(ctx context.Context) bool {
	if channel.IsClosed(s.catalog.Synced()) {
		return true
	}
	select {
	case <-s.catalog.Synced():
		return true
	case <-ctx.Done():
		return false
	case <-s.calls.Stopping():
		return false
	}
}

// servable returns a status error if Get has no response for a Service (§2.1). A federated Service always has
// a response: the endpoints of the members that exist.
func (s *Server) servable(key catalog.ServiceKey, path string) (*catalog.Service, error) {
	service, ok := s.catalog.FindService(key)
	switch {
	case !ok:
		notFound := status.Errorf(codes.NotFound, "service %s.%s not found", sanitize.Name(key.Name), sanitize.Name(key.Namespace))
		return nil, s.config.unlessOutdated(notFound, serviceResources)
	case service.Federation != nil:
		return service, nil
	case service.RemoteCluster != nil:
		return service, s.servableRemote(service, path)
	case service.ExternalName:
		return nil, externalName(path)
	default:
		return service, nil
	}
}

// declares reports whether a Service has a port of this number.
func declares(s *catalog.Service, port uint16) bool {
	return slices.ContainsFunc(s.Ports, func(p catalog.ServicePort) bool { return p.Port == port })
}

func (s *Server) servableRemote(service *catalog.Service, path string) error {
	key := service.Key
	if service.RemoteService == nil {
		return status.Errorf(codes.FailedPrecondition,
			"service %s.%s has the label multicluster.linkerd.io/remote-discovery but not multicluster.linkerd.io/remote-service", key.Name, key.Namespace)
	}
	if s.catalog.Cluster(*service.RemoteCluster) == nil {
		if s.config.UnusableLink != nil {
			if why := s.config.UnusableLink(*service.RemoteCluster); why != "" {
				return status.Errorf(codes.Unavailable, "service %s.%s: cluster %q is not linked: %s", key.Name, key.Namespace, *service.RemoteCluster, why)
			}
		}
		notFound := status.Errorf(codes.NotFound, "service %s.%s: cluster %q is not linked", key.Name, key.Namespace, *service.RemoteCluster)
		return s.config.unlessOutdated(notFound, clusterResources)
	}
	there := catalog.ServiceKey{Cluster: *service.RemoteCluster, Namespace: key.Namespace, Name: *service.RemoteService}
	if target, ok := s.catalog.FindService(there); ok && target.ExternalName {
		return externalName(path)
	}
	return nil
}

func externalName(path string) error {
	return status.Errorf(codes.InvalidArgument, "invalid authority %s: the service is of type ExternalName and has no endpoints", sanitize.Quote(path))
}

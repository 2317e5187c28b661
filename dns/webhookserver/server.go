package webhookserver

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/webhook"
	"github.com/signpostd/signpost/internal/httplimits"
)

// DefaultAddress is the usual address of a webhook server.
const DefaultAddress = "127.0.0.1:8888"

const (
	// stopTimeout limits running requests after the server was told to stop.
	stopTimeout = 5 * time.Second
	// maxRequests limits the requests that wait for the provider. ExternalDNS sends one at a time.
	maxRequests = 16
)

// Config configures a [Server].
type Config struct {
	Provider provider.Provider
	// Limits are those of requests. A time or size of zero means no limit.
	webhook.Limits
	// Declared are the properties that programs may name by annotation keys with one of Prefixes, as
	// ExternalDNS does. Responses use the first prefix.
	Declared dns.Declarations
	Prefixes []string
	// Log receives errors of the provider and of the HTTP server. It may be nil.
	Log *slog.Logger
}

// Server serves a provider. [New] creates it.
type Server struct {
	config Config
	// turn is held by a call of the provider.
	turn *semaphore.Weighted
	// applied is when changes were last applied, for a provider that needs pauses between calls. It is
	// guarded by turn.
	applied time.Time
	// batchesApplied counts the batches that may have been applied, even partly. It is guarded by
	// turn.
	batchesApplied int
	handler        http.Handler
}

// New returns a server. Run starts it.
func New(c Config) *Server {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{config: c, turn: semaphore.NewWeighted(1)}
	mux := http.NewServeMux()
	mux.HandleFunc("/", s.handle(map[string]operation{http.MethodGet: s.negotiate}))
	mux.HandleFunc("/records", s.handle(map[string]operation{http.MethodGet: s.list, http.MethodPost: s.apply}))
	mux.HandleFunc("/adjustendpoints", s.handle(map[string]operation{http.MethodPost: s.adjust}))
	s.handler = httplimits.Limit(maxRequests, func(w http.ResponseWriter, r *http.Request) {
		httplimits.DropBody(w, r)
		http.Error(w, "too many requests at a time: try again", http.StatusServiceUnavailable)
	})(mux)
	return s
}

// Handler returns the handler for all requests.
func (s *Server) Handler() http.Handler { return s.handler }

// Run serves on a listener until ctx ends, stops within a few seconds, and closes the listener. The
// error says why it can't serve.
func (s *Server) Run(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler:           s.Handler(),
		ReadTimeout:       s.config.ReadTimeout,
		WriteTimeout:      s.config.WriteTimeout,
		ReadHeaderTimeout: s.config.ReadHeaderTimeout,
		IdleTimeout:       s.config.IdleTimeout,
		ErrorLog:          slog.NewLogLogger(s.config.Log.Handler(), slog.LevelDebug),
	}
	return httplimits.Serve(ctx, server, "webhook requests", l, stopTimeout)
}

// Package admin is the HTTP server for operators and probes: metrics, readiness, liveness and,
// optionally, profiles.
//
//	/metrics       the metrics of the Gatherer, for Prometheus
//	/ready         200 "ok" or 500 "not ready", then one line per detail
//	/ping          200 "pong" as long as the process lives
//	/debug/pprof/  the profiles of net/http/pprof, with [Config.PProf] only
//
// It also serves the paths of [Config.Handlers]; other paths are 404. The paths and the first line
// of each body are those of Linkerd's controllers (spec/destination.md §1.4), so that probes need
// no change. Further lines say what is missing and why.
//
// Package process creates one [Server] with [New], and runs it from the start of the process,
// before the caches are filled. The inspection API has servers of its own, created with [NewBare],
// which serve nothing but its handlers.
//
// Clients are limited by package httplimits. A handler that panics fails its
// request only (recover.go).
//
// # Concurrency
//
// Requests are served concurrently, so Ready is called from any goroutine. Run is called once.
package admin

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/signpostd/signpost/internal/httplimits"
	"github.com/signpostd/signpost/internal/panics"
)

// Limits per client, so that the server stays responsive if a client asks for too much.
const (
	// readTimeout limits the header and the body of a request.
	readTimeout = 15 * time.Second
	// writeTimeout limits a response. Profiles have the duration that the client chooses in addition.
	writeTimeout = 30 * time.Second
	// idleTimeout is longer than the interval of probes and of pages that poll lists. If its scrape
	// interval is longer, Prometheus reconnects for each scrape.
	idleTimeout = 30 * time.Second
	// maxScrapes limits parallel requests for /metrics; others get 503. It allows several Prometheus
	// servers. If one host has several of the requests, a request from another host replaces the
	// oldest of them.
	maxScrapes = 8
	// maxProfiles limits parallel requests for profiles in the same way.
	maxProfiles = 4
	// stopTimeout limits running requests after the server was told to stop. Profiles of 30 s are cut
	// off.
	stopTimeout = 2 * time.Second
)

// Config configures a [Server].
type Config struct {
	// Listener is the server's listener, which the server closes.
	Listener net.Listener
	// Gatherer has the metrics. Registerer registers the metrics of the metrics handler itself, and
	// may be nil.
	Gatherer   prometheus.Gatherer
	Registerer prometheus.Registerer
	// Ready reports whether the process is ready. The details are lines about pending or missing
	// parts. Ready must be fast. Nil means always ready.
	Ready func() (ready bool, details []string)
	// Reasons replace the details for clients for whom MayRead returns false. A nil MayRead shows the
	// details to everybody.
	Reasons func() []string
	MayRead func(*http.Request) bool
	// Handlers serve further paths, which must not be those of the package.
	Handlers map[string]http.Handler
	// PProf enables the profiles.
	PProf bool
	// Log receives the errors of the HTTP server; nil drops them.
	Log *slog.Logger
	// Panics counts the panics of handlers, for all servers of a process. Nil creates one for this
	// server.
	Panics *panics.Reporter
	// ConnContext is that of [http.Server]; it may be nil.
	ConnContext func(context.Context, net.Conn) context.Context
}

// Server is an admin server. [New] creates it.
type Server struct {
	config  Config
	handler http.Handler
}

// New returns a server, which Run starts. It fails if the Registerer refuses a metric.
func New(c Config) (*Server, error) { return newServer(c, newHandler) }

// NewBare returns a server for the Handlers of a config and, if it has a Ready, for /ready.
func NewBare(c Config) (*Server, error) {
	return newServer(c, func(c Config) (http.Handler, error) { return bareHandler(c), nil })
}

func newServer(c Config, newHandler func(Config) (http.Handler, error)) (*Server, error) {
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	if c.Panics == nil {
		var err error
		if c.Panics, err = NewPanics(c.Registerer, c.Log); err != nil {
			return nil, err
		}
	}
	h, err := newHandler(c)
	if err != nil {
		return nil, err
	}
	return &Server{config: c, handler: h}, nil
}

// Run serves until ctx ends, then stops within a few seconds. It returns an error if it can't
// serve.
func (s *Server) Run(ctx context.Context) error {
	server := &http.Server{
		Handler:      s.handler,
		ReadTimeout:  readTimeout,
		WriteTimeout: writeTimeout,
		IdleTimeout:  idleTimeout,
		ConnContext:  s.config.ConnContext,
		ErrorLog:     slog.NewLogLogger(s.config.Log.Handler(), slog.LevelDebug),
	}
	return httplimits.Serve(ctx, server, "admin requests", s.config.Listener, stopTimeout)
}

// Package admin is the HTTP server for operators and probes: metrics, readiness,
// liveness and, when asked for, profiles.
//
//	/metrics       what the Gatherer has, for Prometheus
//	/ready         200 "ok" or 500 "not ready", then one line per detail
//	/ping          200 "pong" as long as the process lives
//	/debug/pprof/  the profiles of net/http/pprof, with [Config.PProf] only
//
// and the paths of [Config.Handlers]; other paths are 404. The paths and the first line of each
// body are those of Linkerd's controllers (spec/destination.md §1.4), so that probes need no
// change. The lines below it say what is missing and why.
//
// Package process makes one [Server] with [New], and runs it from the start of the process on,
// before anything is synchronised. The inspection API has servers of its own, made with [NewBare],
// which serve nothing but its handlers.
//
// Connections are limited in number, in total and for each host (connections.go). A handler that
// panics costs its request (recover.go).
//
// # Concurrency
//
// Requests are served concurrently, so Ready is called from any goroutine. Run is called once.
package admin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/signpostd/signpost/internal/panics"
)

// What a client of the admin server may ask for, so that the server works while somebody asks for
// too much.
const (
	readHeaderTimeout = 15 * time.Second
	// writeTimeout is how long an answer may take, except for profiles, which take as long as the
	// client wants.
	writeTimeout = 30 * time.Second
	// idleTimeout is longer than the interval of probes and of pages that ask for lists. Prometheus
	// connects again for each scrape if its interval is longer.
	idleTimeout = 30 * time.Second
	// maxHeaderBytes bounds the headers of a request. net/http adds 4 kB.
	maxHeaderBytes = 16 << 10
	// maxScrapes is how many requests for /metrics are answered at a time; others get 503. It is
	// enough for several Prometheus servers.
	maxScrapes = 8
	// stopTimeout is how long the server waits for running requests when it is told to stop.
	// It doesn't wait for a profile of 30 s.
	stopTimeout = 2 * time.Second
)

// Config says what a [Server] serves, and where.
type Config struct {
	// Listener is where the server listens; the server closes it.
	Listener net.Listener
	// Gatherer has the metrics; Registerer takes those of the metrics handler itself and
	// may be nil.
	Gatherer   prometheus.Gatherer
	Registerer prometheus.Registerer
	// Ready says whether the process is ready. The details are lines that say what it waits
	// for or does without. Ready has to be quick. Nil means always ready.
	Ready func() (ready bool, details []string)
	// Reasons are shown instead of the details to clients for whom MayRead returns false. A nil
	// MayRead lets everybody read the details.
	Reasons func() []string
	MayRead func(*http.Request) bool
	// Handlers serve more paths, which must not be those of the package.
	Handlers map[string]http.Handler
	// PProf serves the profiles.
	PProf bool
	// Log takes the errors of the HTTP server; nil drops them.
	Log *slog.Logger
	// Panics counts the panics of handlers, for all servers of a process. Nil stands for one of
	// this server.
	Panics *panics.Reporter
	// ConnContext is that of [http.Server]; it may be nil.
	ConnContext func(context.Context, net.Conn) context.Context
}

// Server is an admin server. Make one with [New].
type Server struct {
	config  Config
	handler http.Handler
}

// New returns a server, which doesn't serve yet. It fails when the Registerer refuses a metric.
func New(c Config) (*Server, error) { return newServer(c, newHandler) }

// NewBare returns a server for the Handlers of a config and, if it has a Ready, for /ready.
func NewBare(c Config) (*Server, error) { return newServer(c, newBareHandler) }

func newServer(c Config, newHandler func(Config) (http.Handler, error)) (*Server, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
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

// Run serves until ctx ends, then stops within a few seconds. It returns an error
// when it can't serve.
func (s *Server) Run(ctx context.Context) error {
	server := &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ConnContext:       s.config.ConnContext,
		ErrorLog:          slog.NewLogLogger(s.config.Log.Handler(), slog.LevelDebug),
	}
	stopped := make(chan struct{})
	unhook := context.AfterFunc(ctx, func() {
		defer close(stopped)
		stop(ctx, server)
	})
	err := server.Serve(limitConnections(s.config.Listener))
	if errors.Is(err, http.ErrServerClosed) {
		<-stopped
		return nil
	}
	if !unhook() {
		<-stopped
	}
	return fmt.Errorf("serve admin requests on %s: %w", s.config.Listener.Addr(), err)
}

// stop lets running requests end, and cuts off those that don't.
func stop(ctx context.Context, server *http.Server) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	if server.Shutdown(ctx) != nil {
		// The connections that are left are closed; there is nobody to tell.
		_ = server.Close()
	}
}

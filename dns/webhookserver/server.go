package webhookserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/webhook"
)

// DefaultAddress is where a server of the protocol usually listens.
const DefaultAddress = "127.0.0.1:8888"

// stopTimeout is how long running requests may take after the server was told to stop.
const stopTimeout = 5 * time.Second

// Config says what a [Server] serves, and how.
type Config struct {
	Provider provider.Provider
	// Limits are those of requests. A time or size of zero is no limit.
	webhook.Limits
	// Declared are the properties that programs may name as ExternalDNS does, by the keys of
	// annotations with one of Prefixes. Answers name them with the first of these.
	Declared dns.Declarations
	Prefixes []string
	// Log is for errors of the provider and of the HTTP server. It may be nil.
	Log *slog.Logger
}

// Server serves a provider. Make one with [New].
type Server struct {
	config Config
	// turn has a value while nobody calls the provider.
	turn chan struct{}
	// applied is when changes were last applied, for a provider that wants pauses. It belongs
	// to whoever has the turn.
	applied time.Time
	// made counts the batches of which something may have been made. It belongs to whoever has
	// the turn, too.
	made int
	mux  *http.ServeMux
}

// New returns a server. It doesn't listen before Run is called.
func New(c Config) *Server {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{config: c, turn: make(chan struct{}, 1), mux: http.NewServeMux()}
	s.turn <- struct{}{}
	s.mux.HandleFunc("/", s.handle(map[string]operation{http.MethodGet: s.negotiate}))
	s.mux.HandleFunc("/records", s.handle(map[string]operation{http.MethodGet: s.list, http.MethodPost: s.apply}))
	s.mux.HandleFunc("/adjustendpoints", s.handle(map[string]operation{http.MethodPost: s.adjust}))
	return s
}

// Handler returns the handler for all requests.
func (s *Server) Handler() http.Handler { return s.mux }

// Run serves on a listener until ctx ends, stops within a few seconds, and closes the
// listener. The error is that it can't serve.
func (s *Server) Run(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler:           s.Handler(),
		ReadTimeout:       s.config.ReadTimeout,
		WriteTimeout:      s.config.WriteTimeout,
		ReadHeaderTimeout: s.config.ReadHeaderTimeout,
		IdleTimeout:       s.config.IdleTimeout,
		ErrorLog:          slog.NewLogLogger(s.config.Log.Handler(), slog.LevelDebug),
	}
	stopped := make(chan struct{})
	unhook := context.AfterFunc(ctx, func() {
		defer close(stopped)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			// The remaining connections are closed; there is nobody to report an error to.
			_ = server.Close()
		}
	})
	err := server.Serve(l)
	if !unhook() {
		<-stopped
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve webhook requests on %s: %w", l.Addr(), err)
}

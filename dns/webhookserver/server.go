package webhookserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/webhook"
)

// DefaultAddress is where a server of the protocol listens usually.
const DefaultAddress = "127.0.0.1:8888"

// stopTimeout is how long requests may take that are still running when the server is
// told to stop.
const stopTimeout = 5 * time.Second

// Config says what a [Server] serves, and how.
type Config struct {
	Provider provider.Provider
	// The times that a request may take; zero is any. [DefaultConfig] has those of the
	// protocol.
	ReadTimeout, WriteTimeout, ReadHeaderTimeout, IdleTimeout time.Duration
	// MaxBodySize is the number of bytes that the body of a request may have; zero is any
	// number.
	MaxBodySize int64
	// Log takes the errors of the provider and of the HTTP server; nil drops them.
	Log *slog.Logger
}

// DefaultConfig returns a config with the times and sizes of the protocol.
func DefaultConfig(p provider.Provider) Config {
	return Config{
		Provider:    p,
		ReadTimeout: webhook.DefaultReadTimeout, WriteTimeout: webhook.DefaultWriteTimeout,
		ReadHeaderTimeout: webhook.DefaultReadHeaderTimeout, IdleTimeout: webhook.DefaultIdleTimeout,
		MaxBodySize: webhook.DefaultMaxBodySize,
	}
}

// Server serves a provider. Make one with [New].
type Server struct {
	config Config
	// turn has a value while nobody calls the provider.
	turn chan struct{}
	// applied is when the provider was last given changes, for those that want pauses. It
	// belongs to who has the turn.
	applied time.Time
	mux     *http.ServeMux
}

// New returns a server that doesn't listen yet.
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

// Handler returns what answers the requests, without a listener.
func (s *Server) Handler() http.Handler { return s.mux }

// Run serves on a listener until ctx ends, then stops within a few seconds. It closes the
// listener. It returns an error when it can't serve.
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
			// The connections that are left are closed; there is nobody to tell.
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

package admin

import (
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/signpostd/signpost/internal/panics"
)

// NewPanics returns the reporter that counts and logs the panics of handlers, for all servers of a
// process. The registerer may be nil. NewPanics fails if the registerer refuses the metric.
func NewPanics(registerer prometheus.Registerer, log *slog.Logger) (*panics.Reporter, error) {
	count := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "http_server_panics_total",
		Help: "Requests to the admin server and the inspection API that failed because the server made a mistake. The log has the stack.",
	}, []string{"path"})
	if registerer != nil {
		if err := registerer.Register(count); err != nil {
			return nil, err
		}
	}
	return panics.New(log, count), nil
}

// recovering responds with 500 if a handler panics, and counts that for path, which is a pattern of
// ours. If a part of a response was sent already, the connection is closed.
func recovering(reporter *panics.Reporter, path string, next http.Handler) http.Handler {
	reporter.Expect(path)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := &tracked{ResponseWriter: w}
		err := reporter.Catch(path, func() error { next.ServeHTTP(answer, r); return nil })
		switch {
		case err == nil:
		case answer.begun:
			panic(http.ErrAbortHandler) // net/http closes the connection and logs nothing
		default:
			text(w, http.StatusInternalServerError, "internal error of the server; its log has the details\n")
		}
	})
}

// tracked is a writer that knows whether the response was started.
type tracked struct {
	http.ResponseWriter
	begun bool
}

// WriteHeader implements http.ResponseWriter.
func (t *tracked) WriteHeader(code int) {
	t.begun = true
	t.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (t *tracked) Write(b []byte) (int, error) {
	t.begun = true
	return t.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (t *tracked) Unwrap() http.ResponseWriter { return t.ResponseWriter }

package admin

import (
	"fmt"
	"io"
	"net/http"
	"net/http/pprof"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/signpostd/signpost/internal/httplimits"
)

// newHandler returns its own multiplexer, because importing net/http/pprof registers the profiles
// on the default one, which must not be reachable.
func newHandler(c Config) (http.Handler, error) {
	metrics, err := metricsHandler(c)
	if err != nil {
		return nil, err
	}
	if c.Ready == nil {
		c.Ready = func() (bool, []string) { return true, nil }
	}
	mux := bareHandler(c)
	handle := func(path string, handler http.Handler) { mux.Handle(path, recovering(c.Panics, path, handler)) }
	limitProfiles := httplimits.Limit(maxProfiles, busy("profiles"))
	profile := func(path string, handler http.HandlerFunc) { handle("/debug/pprof/"+path, limitProfiles(handler)) }
	handle("/metrics", metrics)
	// The probes of ExternalDNS request /healthz.
	handle("/healthz", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { text(w, http.StatusOK, "OK") }))
	handle("/ping", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { text(w, http.StatusOK, "pong\n") }))
	if c.PProf {
		profile("", pprof.Index)
		profile("cmdline", pprof.Cmdline)
		profile("profile", pprof.Profile)
		profile("symbol", pprof.Symbol)
		profile("trace", pprof.Trace)
	}
	return mux, nil
}

// bareHandler serves the Handlers of a config, and /ready if the config has it.
func bareHandler(c Config) *http.ServeMux {
	mux := http.NewServeMux()
	for path, handler := range c.Handlers {
		mux.Handle(path, recovering(c.Panics, path, handler))
	}
	if c.Ready != nil {
		mux.Handle("/ready", recovering(c.Panics, "/ready", readyHandler(c)))
	}
	return mux
}

// Metrics returns a handler of /metrics for few clients, without metrics of its own. A broken
// collector doesn't hide the metrics of others.
func Metrics(gatherer prometheus.Gatherer) http.Handler {
	return limitScrapes(promhttp.HandlerFor(gatherer, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}))
}

// limitScrapes limits the requests at a time, because each has all metrics in memory.
func limitScrapes(next http.Handler) http.Handler {
	return httplimits.Limit(maxScrapes, busy("metrics"))(next)
}

// busy returns a handler that refuses requests for something.
func busy(what string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		text(w, http.StatusServiceUnavailable, "too many requests for "+what+" at a time: try again\n")
	}
}

func metricsHandler(c Config) (h http.Handler, err error) {
	// promhttp panics when a metric can't be registered.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("register the metrics of the metrics handler: %v: give each admin server a registry of its own", p)
		}
	}()
	gatherer := c.Gatherer
	if gatherer == nil {
		gatherer = prometheus.NewRegistry()
	}
	// A broken collector must not hide the metrics of others.
	h = limitScrapes(promhttp.HandlerFor(gatherer, promhttp.HandlerOpts{Registry: c.Registerer, ErrorHandling: promhttp.ContinueOnError}))
	if c.Registerer != nil {
		h = promhttp.InstrumentMetricHandler(c.Registerer, h)
	}
	return h, nil
}

func readyHandler(c Config) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		code, body := http.StatusOK, "ok\n"
		ready, lines := c.Ready()
		if !ready {
			code, body = http.StatusInternalServerError, "not ready\n"
		}
		if c.MayRead != nil && !c.MayRead(r) {
			lines = nil
			if c.Reasons != nil {
				lines = c.Reasons()
			}
		}
		for _, line := range lines {
			body += strings.ReplaceAll(line, "\n", " ") + "\n"
		}
		text(w, code, body)
	}
}

func text(w http.ResponseWriter, code int, body string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	// An error means that the client has left.
	_, _ = io.WriteString(w, body)
}

package admin

import (
	"fmt"
	"io"
	"net/http"
	"net/http/pprof"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// newHandler returns a multiplexer of its own. Importing net/http/pprof registers the profiles on
// the default one, which must not be reachable.
func newHandler(c Config) (http.Handler, error) {
	metrics, err := metricsHandler(c)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", metrics)
	mux.HandleFunc("/ready", readyHandler(c.Ready))
	// The probes of ExternalDNS request /healthz.
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { text(w, http.StatusOK, "OK") })
	mux.HandleFunc("/ping", func(w http.ResponseWriter, _ *http.Request) { text(w, http.StatusOK, "pong\n") })
	for path, handler := range c.Handlers {
		mux.Handle(path, handler)
	}
	if c.PProf {
		mux.HandleFunc("/debug/pprof/", pprof.Index)
		mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	}
	return mux, nil
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
	// One broken collector must not hide the metrics of the others.
	h = promhttp.HandlerFor(gatherer, promhttp.HandlerOpts{Registry: c.Registerer, ErrorHandling: promhttp.ContinueOnError})
	if c.Registerer != nil {
		h = promhttp.InstrumentMetricHandler(c.Registerer, h)
	}
	return h, nil
}

func readyHandler(ready func() (bool, []string)) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		code, body, details := http.StatusOK, "ok\n", []string(nil)
		if ready != nil {
			var ok bool
			if ok, details = ready(); !ok {
				code, body = http.StatusInternalServerError, "not ready\n"
			}
		}
		for _, d := range details {
			body += strings.ReplaceAll(d, "\n", " ") + "\n"
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

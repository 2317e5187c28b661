package webhook

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// counters count the calls of one kind. They are gauges because those of ExternalDNS are
// (spec/dns.md §10).
type counters struct{ requests, errors prometheus.Gauge }

type metrics struct{ records, apply, adjust counters }

// newMetrics registers the metrics. Several publishers share them.
func newMetrics(r prometheus.Registerer) (*metrics, error) {
	var errs []error
	gauge := func(name, help string) prometheus.Gauge {
		g, err := register(r, prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: "external_dns", Subsystem: "webhook_provider", Name: name, Help: help,
		}))
		errs = append(errs, err)
		return g
	}
	m := &metrics{
		records: counters{
			requests: gauge("records_requests_total", "Requests for the records of webhook providers."),
			errors:   gauge("records_errors_total", "Requests for the records of webhook providers that failed."),
		},
		apply: counters{
			requests: gauge("applychanges_requests_total", "Requests with changes to webhook providers."),
			errors:   gauge("applychanges_errors_total", "Requests with changes to webhook providers that failed."),
		},
		adjust: counters{
			requests: gauge("adjustendpoints_requests_total", "Requests for adjustments by webhook providers."),
			errors:   gauge("adjustendpoints_errors_total", "Requests for adjustments by webhook providers that failed."),
		},
	}
	return m, errors.Join(errs...)
}

func register(r prometheus.Registerer, g prometheus.Gauge) (prometheus.Gauge, error) {
	if r == nil {
		return g, nil
	}
	err := r.Register(g)
	var already prometheus.AlreadyRegisteredError
	if errors.As(err, &already) {
		if existing, ok := already.ExistingCollector.(prometheus.Gauge); ok {
			return existing, nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("register a metric of the webhook provider: %w", err)
	}
	return g, nil
}

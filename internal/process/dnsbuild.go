package process

import (
	"fmt"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/signpostd/signpost/internal/version"
)

// registerBuild exports the metric of ExternalDNS about its build, for this program
// (spec/dns.md §10).
func registerBuild(r prometheus.Registerer) error {
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "external_dns_build_info", Help: "The program: always 1.",
		ConstLabels: prometheus.Labels{
			"version": version.Current(), "revision": version.Revision(), "go_version": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH,
		},
	})
	info.Set(1)
	if err := r.Register(info); err != nil {
		return fmt.Errorf("register the metrics of the program: %w", err)
	}
	return nil
}

package process

import (
	"fmt"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/signpostd/signpost/internal/version"
)

// registerBuild exports the version of the program, a metric of every process.
func registerBuild(r prometheus.Registerer) error {
	return registerInfo(r, "signpost_build_info", "The program: always 1.")
}

// registerReady exports the result of /ready, so that an alert needs no other program's metric.
func registerReady(r prometheus.Registerer, ready func() (bool, []string)) error {
	gauge := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "signpost_ready", Help: "1 while /ready answers that the process is ready, 0 otherwise."}, func() float64 {
		if is, _ := ready(); is {
			return 1
		}
		return 0
	})
	if err := r.Register(gauge); err != nil {
		return fmt.Errorf("register the metric of readiness: %w", err)
	}
	return nil
}

// registerDNSBuild exports the build metric of ExternalDNS for this program (spec/dns.md §10).
func registerDNSBuild(r prometheus.Registerer) error {
	return registerInfo(r, "external_dns_build_info", "The program, as ExternalDNS calls the metric: always 1.")
}

func registerInfo(r prometheus.Registerer, name, help string) error {
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: name, Help: help,
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

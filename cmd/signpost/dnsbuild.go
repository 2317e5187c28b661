package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
)

// registerBuild exports what ExternalDNS says about its program, about this one (spec/dns.md §10).
func registerBuild(r prometheus.Registerer) error {
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "external_dns_build_info", Help: "The program: always 1.",
		ConstLabels: prometheus.Labels{
			"version": version, "revision": revision(), "go_version": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH,
		},
	})
	info.Set(1)
	if err := r.Register(info); err != nil {
		return fmt.Errorf("register the metrics of the program: %w", err)
	}
	return nil
}

// revision returns the commit that the program was built from, if it is known.
func revision() string {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range build.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}

package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/dns/configure"
	"github.com/signpostd/signpost/internal/logging"
	"github.com/signpostd/signpost/internal/report"
)

// Run runs the roles of a config until ctx ends. The log goes to w.
func Run(ctx context.Context, c settings.Config, w io.Writer) error {
	log, err := StartLog(c.Process, w)
	if err != nil {
		return err
	}
	settings.LogRemarks(log, c.Remarks)
	return runRoles(ctx, c, log)
}

// RunDNS executes the settled flags of `signpost dns`: it publishes until ctx ends or, with --once,
// once, or it serves the provider to others. The log goes to w.
func RunDNS(ctx context.Context, c *settings.DNSFlags, flags *pflag.FlagSet, w io.Writer) error {
	log, err := StartLog(c.Config.Process, w)
	if err != nil {
		return err
	}
	for _, line := range c.Deprecations {
		log.Warn("Flag is deprecated", "reason", strings.TrimSpace(line))
	}
	log.Info("Settings that differ from the defaults", configure.LogAttrs(flags)...)
	settings.LogRemarks(log, c.Config.Remarks)
	switch {
	case c.Publisher.WebhookServer:
		return serveProvider(ctx, c, log)
	case !c.Publisher.Once:
		return runRoles(ctx, c.Config, log)
	}
	plans, err := publishOnce(ctx, c.Config, c.Timeout, log)
	for _, p := range plans {
		if p.Done {
			log.Info("Zone is done", "zone", p.Zone.Name, "waiting", len(p.Waiting))
		}
	}
	if errors.Is(err, context.Canceled) {
		return errors.New("interrupted before everything was published: run it again to continue")
	}
	return err
}

// StartLog creates the log of the process, which goes to w, and redirects the logs of the libraries
// there too. It is called once, before anything uses gRPC or client-go.
func StartLog(o settings.Process, w io.Writer) (*slog.Logger, error) {
	level, err := logging.ParseLevel(o.LogLevel)
	if err != nil {
		return nil, fmt.Errorf("start the log: %w", err)
	}
	log := logging.New(logging.Config{Level: level, Format: logging.Format(o.LogFormat), Output: w})
	if err := logging.RouteLibraries(log, level); err != nil {
		return nil, fmt.Errorf("start the log: %w", err)
	}
	return log, nil
}

func runRoles(ctx context.Context, c settings.Config, log *slog.Logger) error {
	defer raiseGCPercent(c)()
	defer limitMemory(log, memlimit.FromCgroup)()
	registry := newProcessRegistry()
	reporter, err := report.New(report.Config{Registerer: registry, Log: log})
	if err != nil {
		return err
	}
	p, err := newProcess(ctx, c, log, registry, reporter.Report, reporter.Fixed)
	if err != nil {
		return err
	}
	ofRoles := p.Inspection.Problems
	p.Inspection.Problems = func() []inspect.Problem { return append(ofRoles(), inspectedProblems(reporter.Problems())...) }
	p.Inspection.ClusterDomain = c.Destination.ClusterDomain
	if p.Inspection.Settings, err = settingsJSON(c); err != nil {
		return err
	}
	defer p.Tracer.Close()
	return serveProcess(ctx, p, serving{options: c.Process, origin: c.Origin, log: log, registry: registry})
}

package process

import (
	"context"
	"errors"
	"log/slog"

	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/dns/configure"
	"github.com/signpostd/signpost/dns/webhookserver"
	"github.com/signpostd/signpost/internal/run"
)

// serveProvider serves the provider to other processes over the webhook protocol until ctx ends. It
// publishes nothing. The admin server is that of a publisher.
func serveProvider(ctx context.Context, c *settings.DNSFlags, log *slog.Logger) error {
	registry := newProcessRegistry()
	if err := errors.Join(registerBuild(registry), registerDNSBuild(registry)); err != nil {
		return err
	}
	wrap, err := configure.MeasureHTTP(registry)
	if err != nil {
		return err
	}
	provider, err := c.Publisher.OpenProvider(ctx, configure.Input{Log: log, Registerer: registry, Wrap: wrap})
	if err != nil {
		return settings.AsUsage(err)
	}
	served := webhookserver.Config{
		Provider: provider, Limits: c.Publisher.WebhookLimits(),
		Declared: c.Publisher.Source.Declared, Prefixes: c.Publisher.Source.Prefixes(), Log: log,
	}
	origin := func() string { return c.Origin("webhook-server") }
	l, err := listen(ctx, origin, webhookserver.DefaultAddress, "end the process that listens there, because the webhook protocol has no other address")
	if err != nil {
		return err
	}
	defer l.Close()
	server := run.Actor{Name: "webhook server", Run: func(ctx context.Context) error { return webhookserver.New(served).Run(ctx, l) }}
	log.Info("Serving the provider", "address", l.Addr().String())
	p := process{Actors: []run.Actor{server}, Ready: func() (bool, []string) { return true, nil }}
	return serveProcess(ctx, p, serving{options: c.Config.Process, origin: c.Config.Origin, log: log, registry: registry})
}

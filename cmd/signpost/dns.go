package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/signpostd/signpost/dns/configure"
	"github.com/signpostd/signpost/internal/process"
	"github.com/signpostd/signpost/internal/settings"
)

func newDNSCommand(s streams) *cobra.Command {
	c := settings.NewDNSFlags()
	cmd := &cobra.Command{
		Use:   "dns",
		Short: "Publish DNS records, in the place of ExternalDNS",
		Long: `Publish DNS records of Services, Ingresses and other objects, in the place of
ExternalDNS. The flags, environment variables (EXTERNAL_DNS_…), annotations and
ownership records are those of that program, and there are a few more flags.

Before the first start, look at what would be changed:

  signpost plan --source=service --provider=rfc2136 --policy=sync …`,
		Annotations: map[string]string{negations: ""},
		Args:        noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if c.PrintOnly {
				return printVersion(s.out, settings.OutputText)
			}
			if err := c.Settle(cmd.Flags()); err != nil {
				return err
			}
			return runDNS(cmd, c, s)
		},
	}
	c.Add(cmd.Flags())
	c.AddProcess(cmd.Flags())
	return cmd
}

func runDNS(cmd *cobra.Command, c *settings.DNSFlags, s streams) error {
	log, err := process.StartLog(c.Config.Process, s.err)
	if err != nil {
		return fmt.Errorf("start the log: %w", err)
	}
	log.Info("Settings that differ from the defaults", configure.Shown(cmd.Flags())...)
	if c.Publisher.WebhookServer {
		return process.ServeProvider(cmd.Context(), c, cmd.Flags(), log)
	}
	if !c.Publisher.Once {
		return process.Serve(cmd.Context(), c.Config, log)
	}
	plans, err := process.Once(cmd.Context(), c.Config, log)
	for _, p := range plans {
		log.Info("Zone is done", "zone", p.Zone.Name, "waiting", len(p.Waiting))
	}
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

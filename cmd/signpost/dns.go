package main

import (
	"bytes"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/signpostd/signpost/app/output"
	"github.com/signpostd/signpost/app/process"
	"github.com/signpostd/signpost/app/settings"
)

// notices collects pflag's messages, to be logged.
type notices struct{ bytes.Buffer }

func newDNSCommand(s streams) *cobra.Command {
	c := settings.NewDNSFlags()
	// Flags are parsed before the format of the log is known, so pflag's messages are logged later.
	messages := &notices{}
	cmd := &cobra.Command{
		Use:   "dns",
		Short: "Publish DNS records, in place of ExternalDNS",
		Long: `Publish DNS records of Services, Ingresses and other objects, in place of
ExternalDNS. The flags, environment variables (EXTERNAL_DNS_…), annotations and
ownership records are those of that program; a few flags are added.

Before the first start, look at what would be changed:

  signpost plan --source=service --provider=cloudflare --policy=sync`,
		Example:     "  signpost dns --source=service --provider=cloudflare --policy=upsert-only --txt-owner-id=shop",
		Annotations: map[string]string{negations: ""},
		Args:        noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if c.PrintVersion {
				return printVersion(s.out, output.Format{})
			}
			if err := c.Settle(cmd.Flags()); err != nil {
				return err
			}
			c.Deprecations = slices.Collect(strings.Lines(messages.String()))
			return process.RunDNS(cmd.Context(), c, cmd.Flags(), s.err)
		},
	}
	c.AddFlags(cmd.Flags())
	cmd.Flags().SetOutput(messages)
	return cmd
}

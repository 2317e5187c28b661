package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"
)

func newRunCommand(s streams) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "run --config FILE",
		Short: "Run every role that a config file names, over one watch",
		Long: `Run every role that a config file names, over one watch of the cluster.

The file begins with

  apiVersion: ` + configVersion + `
  kind: ` + configKind + `

and has the sections kubeconfig, log, admin, shutdownGrace and one for each role:
destination, controllers, dns. A role runs when its section is there, be it empty.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runConfig(cmd.Context(), file, s)
		},
	}
	cmd.Flags().StringVar(&file, "config", "", "`path` of the config file")
	return cmd
}

func runConfig(ctx context.Context, file string, s streams) error {
	if file == "" {
		return usagef("--config: a path is missing: name a config file")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return usagef("read the config file: %w", err)
	}
	c, err := decodeConfig(file, text)
	if err != nil {
		return err
	}
	if !c.RunsDestination && !c.RunsControllers && !c.RunsDNS {
		return usagef("%s:1: no role to run: add the section %s, %s or %s", file, destinationSection, controllersSection, dnsSection)
	}
	return runRoles(ctx, c, s)
}

package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/signpostd/signpost/internal/process"
	"github.com/signpostd/signpost/internal/settings"
)

func newRunCommand(s streams) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "run --config FILE",
		Short: "Run every role that a config file names, over one watch",
		Long: `Run every role that a config file names, over one watch of the cluster.

The file begins with

  apiVersion: ` + settings.APIVersion + `
  kind: ` + settings.Kind + `

and has the sections kubeconfig, log, admin, shutdownGrace and one for each role:
destination, controllers, dns. A role runs when its section is there, even if empty.`,
		Args: noRunArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runConfig(cmd.Context(), file, s)
		},
	}
	cmd.Flags().StringVar(&file, "config", "", "`path` of the config file")
	return cmd
}

// noRunArguments refuses arguments. Whoever gives one mostly means the config file.
func noRunArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 1 && !cmd.Flags().Changed("config") {
		return settings.Usagef("unexpected argument %q: name the config file with a flag: signpost run --config %s", args[0], args[0])
	}
	return noArguments(cmd, args)
}

func runConfig(ctx context.Context, file string, s streams) error {
	if file == "" {
		return settings.Usagef("--config: none given: name a config file")
	}
	c, err := readConfig(file)
	if err != nil {
		return err
	}
	if !c.RunsDestination && !c.RunsControllers && !c.RunsDNS {
		return noRole(file)
	}
	return process.Run(ctx, c, s.err)
}

// readConfig reads a config file.
func readConfig(file string) (settings.Config, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return settings.Config{}, settings.Usagef("read the config file: %w", err)
	}
	return settings.Decode(file, text)
}

// runFlags runs the roles that a command has set up from its flags.
func runFlags(ctx context.Context, c settings.Config, s streams) error {
	var err error
	if c.Remarks, err = settings.CheckFlags(c.Sections()...); err != nil {
		return err
	}
	c.Destination = c.Destination.Settled()
	return process.Run(ctx, c, s.err)
}

package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/app/installation"
	"github.com/signpostd/signpost/app/process"
	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/internal/flaggroup"
)

func newRunCommand(s streams) *cobra.Command {
	var file string
	overrides := settings.Default().Process
	cmd := &cobra.Command{
		Use:   "run --config FILE",
		Short: "Run every role that a config file names, over one watch",
		Long: `Run every role that a config file names, over one watch of the cluster.

The file begins with

  apiVersion: ` + settings.APIVersion + `
  kind: ` + settings.Kind + `

and has the sections kubeconfig, log, admin, inspection, traces, shutdownGrace and one
for each role: destination, controllers, dns, xds. A role runs when its section is
there, even if empty. A flag overrides what the file says.`,
		Example: "  signpost run --config signpost.yaml\n  signpost run --config signpost.yaml --kubeconfig ~/.kube/config --log-level debug",
		Args:    noRunArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runConfig(cmd.Context(), file, overridden(cmd.Flags()), s)
		},
	}
	settings.AddFlags(cmd.Flags(), overrides.Overrides())
	cmd.Flags().StringVar(&file, "config", "", "`path` of the config file")
	flaggroup.Set(cmd.Flags(), "Main", "config")
	return cmd
}

// overridden returns a function that sets the settings of the process to the given flags.
func overridden(flags *pflag.FlagSet) func(*settings.Process) error {
	return func(p *settings.Process) error {
		given := false
		for _, s := range p.Overrides() {
			if f := flags.Lookup(s.Flag); f.Changed {
				given = true
				if err := s.Value.Set(f.Value.String()); err != nil {
					return settings.Usagef("--%s=%s: %w", f.Name, f.Value, err)
				}
			}
		}
		if !given {
			return nil
		}
		_, err := settings.CheckFlags(p)
		return err
	}
}

// noRunArguments refuses arguments, which are mostly meant as the config file.
func noRunArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 1 && !cmd.Flags().Changed("config") {
		return settings.Usagef("unexpected argument %q: name the config file with a flag: signpost run --config %s", args[0], args[0])
	}
	return noArguments(cmd, args)
}

func runConfig(ctx context.Context, file string, override func(*settings.Process) error, s streams) error {
	if file == "" {
		return settings.Usagef("--config: none given: name a config file")
	}
	c, err := readConfig(file)
	if err != nil {
		return err
	}
	if err := override(&c.Process); err != nil {
		return err
	}
	if len(c.Roles()) == 0 {
		return noRole(file)
	}
	return process.Run(ctx, c, s.err)
}

func readConfig(file string) (settings.Config, error) {
	return readReferring(file, settings.References{})
}

// withoutSecrets reads a config file for a command that contacts no provider. A secret that only the pod has
// may be missing.
func withoutSecrets(file string) (settings.Config, error) {
	return readReferring(file, installation.Local().References)
}

// readReferring reads a config file. A relative kubeconfig in it is relative to the directory of the file.
func readReferring(file string, of settings.References) (settings.Config, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return settings.Config{}, settings.Usagef("read the config file: %w", err)
	}
	c, err := settings.Decode(file, text, of)
	if path := c.Process.Kubeconfig; path != "" && !filepath.IsAbs(path) {
		c.Process.Kubeconfig = filepath.Join(filepath.Dir(file), path)
	}
	return c, err
}

// runFlags runs the roles that a command has configured from its flags.
func runFlags(ctx context.Context, c settings.Config, flags *pflag.FlagSet, s streams) error {
	var err error
	c.SetOrigins(flags, nil)
	if c.Remarks, err = settings.CheckFlags(c.Sections()...); err != nil {
		return err
	}
	c.Destination, c.XDS = c.Destination.Settled(), c.XDS.Settled()
	return process.Run(ctx, c, s.err)
}

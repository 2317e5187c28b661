package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/signpostd/signpost/internal/logging"
)

func newDestinationCommand(s streams) *cobra.Command {
	c := defaultConfig()
	c.RunsDestination = true
	var printOnly bool
	cmd := &cobra.Command{
		Use:   "destination",
		Short: "Serve the Destination API, in the place of Linkerd's destination controller",
		Long: `Serve the Linkerd Destination API, in the place of Linkerd's destination
controller. The flags are those of that program, with one dash or two, and a few more.`,
		Args:        noArguments,
		Annotations: map[string]string{dropIn: "linkerd destination"},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if printOnly {
				return printVersion(s.out, outputText)
			}
			return runFlags(cmd.Context(), c, s)
		},
	}
	addFlags(cmd.Flags(), c.settings())
	cmd.Flags().BoolVar(&printOnly, "version", false, "print the version and exit")
	return cmd
}

// runFlags runs the roles of a command line.
func runFlags(ctx context.Context, c config, s streams) error {
	var err error
	if c.Remarks, err = checkFlags(c.sections()...); err != nil {
		return err
	}
	c.Destination = c.Destination.settled()
	return runRoles(ctx, c, s)
}

// runRoles starts the log, and runs the roles until ctx ends.
func runRoles(ctx context.Context, c config, s streams) error {
	log, err := startLog(c.Process, s.err)
	if err != nil {
		return fmt.Errorf("start the log: %w", err)
	}
	logRemarks(log, c.Remarks)
	return serveRoles(ctx, c, log)
}

// startLog makes the log of the process and sends that of the libraries there. It is
// called once, before anything uses gRPC or client-go.
func startLog(o processOptions, w io.Writer) (*slog.Logger, error) {
	level, err := logging.ParseLevel(o.LogLevel)
	if err != nil {
		return nil, err
	}
	log := logging.New(logging.Config{Level: level, Format: logging.Format(o.LogFormat), Output: w})
	if err := logging.RouteLibraries(log, level); err != nil {
		return nil, err
	}
	return log, nil
}

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
	o := defaultDestinationOptions()
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
			return runDestination(cmd.Context(), o, s)
		},
	}
	addFlags(cmd.Flags(), o.settings())
	cmd.Flags().BoolVar(&printOnly, "version", false, "print the version and exit")
	return cmd
}

func runDestination(ctx context.Context, o destinationOptions, s streams) error {
	o, remarks, err := checkFlags(o)
	if err != nil {
		return err
	}
	log, err := startLog(o.Process, s.err)
	if err != nil {
		return fmt.Errorf("start the log: %w", err)
	}
	logRemarks(log, remarks)
	return serveDestination(ctx, o, log)
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

package process

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/signpostd/signpost/internal/logging"
	"github.com/signpostd/signpost/internal/settings"
)

// Run starts the log, which goes to w, and runs the roles until ctx ends.
func Run(ctx context.Context, c settings.Config, w io.Writer) error {
	log, err := StartLog(c.Process, w)
	if err != nil {
		return fmt.Errorf("start the log: %w", err)
	}
	settings.LogRemarks(log, c.Remarks)
	return Serve(ctx, c, log)
}

// StartLog makes the log of the process and sends that of the libraries there. It is
// called once, before anything uses gRPC or client-go.
func StartLog(o settings.Process, w io.Writer) (*slog.Logger, error) {
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

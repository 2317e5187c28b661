package bindtest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/signpostd/signpost/internal/childprocess"
)

const (
	readyTimeout = 20 * time.Second
	stopTimeout  = 10 * time.Second
	pollInterval = 20 * time.Millisecond
)

// instance is a running program with a directory of its own.
type instance struct {
	// program is the name of the program.
	program string
	dir     string
	process *childprocess.Process
}

// waitReady waits until ready reports true or an error, or the program has ended.
func (i *instance) waitReady(ctx context.Context, ready func(ctx context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		if is, err := ready(ctx); is || err != nil {
			return err
		}
		select {
		case <-i.process.Exited():
			return errors.New(i.program + " ended")
		case <-ctx.Done():
			return fmt.Errorf("%s doesn't get ready: %w", i.program, ctx.Err())
		case <-tick.C:
		}
	}
}

// Log returns the output of the program so far.
func (i *instance) Log() string {
	text, err := os.ReadFile(i.logFile())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err.Error()
	}
	return string(text)
}

// Stop ends the program, even if it is paused, and removes its files.
func (i *instance) Stop() error {
	i.process.Stop(stopTimeout)
	if err := os.RemoveAll(i.dir); err != nil {
		return fmt.Errorf("remove the files of %s: %w", i.program, err)
	}
	return nil
}

func (i *instance) logFile() string { return filepath.Join(i.dir, i.program+".log") }

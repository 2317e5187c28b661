// Command signpost is one endpoint control plane for Kubernetes: it watches a cluster
// once and tells every caller where a service lives, in the form that caller
// understands.
//
// This package is flags, config files and wiring, and nothing else. Every command is a
// file of its own that returns a *cobra.Command; what it does for the command is a
// function over an options struct. The settings of a role, with their flags, places in
// the config file and defaults, are one table ([destinationOptions],
// [controllersOptions]), so that `signpost destination`, say, and `signpost run` can't
// drift apart. The roles of a process share one cluster, that is, one watch of each kind:
// a [role] says which tables it needs, and newProcess puts them together. A command that
// takes the place of a program with flags of one dash accepts one dash or two.
//
// The exit code is 0 for success, 1 for a failure, 2 when what was asked for can't be
// understood: a flag, an argument or the config file. `signpost plan` is different: 2 is
// that something would be changed, and every failure is 1.
//
// # Concurrency
//
// Commands run in the main goroutine, under a context that ends with the first SIGINT or
// SIGTERM; the second one ends the process at once.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/signpostd/signpost/internal/settings"
)

const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

// notice makes client-go find out within 15 s, instead of 45, that an API server has
// stopped answering on a connection that is open. What the user has set stands.
var notice = map[string]string{"HTTP2_READ_IDLE_TIMEOUT_SECONDS": "10", "HTTP2_PING_TIMEOUT_SECONDS": "5"}

func main() {
	for name, seconds := range notice {
		if _, set := os.LookupEnv(name); !set {
			os.Setenv(name, seconds) // fails for impossible names only
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// From the first signal on, signals have their usual effect again: the second one
	// ends the process.
	context.AfterFunc(ctx, stop)
	code := execute(ctx, os.Args[1:], streams{out: os.Stdout, err: os.Stderr})
	stop()
	os.Exit(code)
}

// execute runs the command line and returns the exit code.
func execute(ctx context.Context, args []string, s streams) int {
	root := newRootCommand(s)
	root.SetArgs(dropInArgs(root, args))
	cmd, err := root.ExecuteContextC(ctx)
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errDiffers):
		return exitDiffers
	}
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintln(s.err, "signpost:", strings.TrimSuffix(line, "\n"))
	}
	_, fails := cmd.Annotations[usageFails]
	if usage := new(settings.UsageError); errors.As(err, &usage) && !fails {
		return exitUsage
	}
	return exitFailure
}

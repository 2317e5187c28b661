// Command signpost is an endpoint control plane for Kubernetes: it publishes where each Service
// runs, to Linkerd proxies over gRPC, into Endpoints and EndpointSlices, and into DNS.
//
// This package is the command line. Every command is a file of its own that returns a
// *cobra.Command; root.go has their common parts. A command that replaces a program accepts the
// flags of that program: with one dash or two for Linkerd's, with --no- before them for those of
// ExternalDNS.
//
//   - run, destination, controllers, dns and xds run roles (package process) with the flags of package
//     settings.
//   - plan calls package preview, get and profile call package destclient, xds get calls xdsclient.
//   - The commands that query processes use package inspectclient, with the flags in client.go.
//
// The exit code is 0 for success, 1 for a failure, and 2 for a mistake in a flag, an argument or the config
// file. The commands plan, now, explain, check and xds get have further meanings of 1 and 2: docs/cli.md has
// the table.
//
// # Concurrency
//
// Commands run in the main goroutine, under a context that ends with the first SIGINT, SIGTERM or
// SIGHUP; the second one ends the process at once.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	// Root certificates for systems without any, such as the image.
	_ "golang.org/x/crypto/x509roots/fallback"

	"github.com/signpostd/signpost/app/output"
	"github.com/signpostd/signpost/app/settings"
)

const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

// pings are environment variables of client-go. With them it takes 15 s instead of 45 to notice
// that an API server no longer responds on an open connection. A variable that the user has set is
// kept.
var pings = map[string]string{"HTTP2_READ_IDLE_TIMEOUT_SECONDS": "10", "HTTP2_PING_TIMEOUT_SECONDS": "5"}

func main() {
	for name, seconds := range pings {
		if _, set := os.LookupEnv(name); !set {
			os.Setenv(name, seconds) // fails for impossible names only
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), endSignals()...)
	// After the first signal, the second one ends the process.
	context.AfterFunc(ctx, stop)
	quiet()
	code := executeAs(ctx, programOf(os.Args[0]), os.Args[1:], streams{out: os.Stdout, err: os.Stderr})
	stop()
	os.Exit(code)
}

// endSignals returns the signals that end the process. SIGHUP, which the end of a terminal sends, is not among them under
// nohup.
func endSignals() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

// executeAs runs the command line of a program.
func executeAs(ctx context.Context, p program, args []string, to streams) int {
	out, errs := output.NewTerminal(to.out), output.NewTerminal(to.err)
	defer func() { _, _ = out.Close(), errs.Close() }() // an output that failed has already been reported
	s := streams{out: out, err: errs}
	root := newRootCommand(s)
	p.adapt(root)
	initCompletion(root, s)
	args = dropInArgs(root, p.arguments(args))
	root.SetArgs(args)
	cmd, err := root, checkHelpFlag(root, args)
	if err == nil {
		cmd, err = root.ExecuteContextC(ctx)
	}
	own := new(exitError)
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errDiffers):
		return exitDiffers
	case errors.As(err, &own) && own.err == nil:
		return own.code
	case errors.Is(err, errUnfit):
		return exitFailure
	case errors.Is(err, errUnknown):
		return exitUnknown
	}
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintln(s.err, "signpost:", strings.TrimSuffix(line, "\n"))
	}
	if own.err != nil {
		return own.code
	}
	_, fails := cmd.Annotations[usageFails]
	if usage := new(settings.UsageError); errors.As(err, &usage) && !fails {
		return exitUsage
	}
	return exitFailure
}

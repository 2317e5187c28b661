package process

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/pflag"
	"go.uber.org/goleak"

	"github.com/signpostd/signpost/app/settings"
)

func TestMain(m *testing.M) {
	switch os.Getenv("SIGNPOST_TEST_AS_COMMAND") {
	case "":
	case "run":
		os.Exit(exitStatus(runConfigAsCommand()))
	default:
		os.Exit(runAsCommand())
	}
	goleak.VerifyTestMain(m)
}

// runAsCommand runs what `signpost dns` would run with the arguments of this process.
func runAsCommand() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c, flags := settings.NewDNSFlags(), pflag.NewFlagSet("dns", pflag.ContinueOnError)
	c.AddFlags(flags)
	err := flags.Parse(os.Args[1:])
	if err == nil {
		err = c.Settle(flags)
	}
	if err == nil {
		err = Run(ctx, c.Config, os.Stderr)
	}
	return exitStatus(err)
}

// runConfigAsCommand runs what `signpost run` would run with the arguments of this process.
func runConfigAsCommand() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	file := strings.TrimPrefix(os.Args[1], "--config=")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	c, err := settings.Decode(file, text, settings.References{})
	if err != nil {
		return err
	}
	return Run(ctx, c, os.Stderr)
}

func exitStatus(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

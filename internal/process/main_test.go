package process

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/spf13/pflag"
	"go.uber.org/goleak"

	"github.com/signpostd/signpost/internal/settings"
)

func TestMain(m *testing.M) {
	if os.Getenv("SIGNPOST_TEST_AS_COMMAND") != "" {
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
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

package providertest

import (
	"net/http"
	"testing"

	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/internal/sharedflags"
)

// Configure sets flags of a config, including those that it shares with others, and returns it.
func Configure[C provider.Config](t *testing.T, c C, arguments ...string) C {
	t.Helper()
	flags, shared := pflag.NewFlagSet("", pflag.ContinueOnError), &sharedflags.Set{}
	flags.SetOutput(t.Output())
	shared.Give(c)
	c.Flags(flags)
	shared.Flags(flags)
	if err := flags.Parse(arguments); err != nil {
		t.Fatal(err)
	}
	return c
}

// Open opens the provider of a config, which has the type P.
func Open[P provider.Provider](t *testing.T, c provider.Config, in provider.Input) P {
	t.Helper()
	p, err := c.Open(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return p.(P)
}

// Through returns an [provider.Input.Wrap] that sends requests through a transport, such as that of a server
// without a network.
func Through(transport http.RoundTripper) func(http.RoundTripper) http.RoundTripper {
	return func(http.RoundTripper) http.RoundTripper { return transport }
}

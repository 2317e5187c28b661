package azure

import (
	"net/http"
	"testing"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/internal/handlertransport"
	"github.com/signpostd/signpost/testkit/azuretest"
	"github.com/signpostd/signpost/testkit/hostiletest"
)

// A hostile or broken server costs a limited amount of memory, and an error says what it does
// (tenants S9). Only the server that gives tokens is sound.
func TestHostile(t *testing.T) {
	hostiletest.Run(t, "azure", func(t *testing.T, in provider.Input) provider.Provider {
		sound, hostile := azuretest.New().Transport(), in.Wrap(nil)
		in.Wrap = func(http.RoundTripper) http.RoundTripper {
			return handlertransport.Func(func(r *http.Request) (*http.Response, error) {
				if r.URL.Path[:15] == "/subscriptions/" {
					return hostile.RoundTrip(r)
				}
				return sound.RoundTrip(r)
			})
		}
		return open(t, in, false, "--azure-config-file="+settingsFile(t, nowhere, nil))
	})
}

package libdns_test

import (
	"testing"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/libdns"
	"github.com/signpostd/signpost/dns/provider/libdns/modules"
	"github.com/signpostd/signpost/testkit/hostiletest"
)

// A hostile or broken server costs a limited amount of memory, and an error says what it does
// (tenants S9), although the module reads all pages before it returns one record.
func TestHostile(t *testing.T) {
	hostiletest.Run(t, "libdns", func(t *testing.T, in provider.Input) provider.Provider {
		c := &libdns.Config{Name: "hetzner", File: file(t, `{"api_token": "token"}`), Zones: []string{hostiletest.Zone}, Modules: modules.All()}
		p, err := c.Open(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		return p
	})
}

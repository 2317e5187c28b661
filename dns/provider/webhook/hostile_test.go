package webhook

import (
	"testing"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/hostiletest"
)

// A hostile or broken server costs a limited amount of memory, and an error says what it does
// (tenants S9).
func TestHostile(t *testing.T) {
	hostiletest.Run(t, "webhook", func(t *testing.T, in provider.Input) provider.Provider {
		return open(t, in)
	})
}

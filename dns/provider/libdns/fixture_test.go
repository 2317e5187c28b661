package libdns_test

import (
	"log/slog"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/publishertest"
)

// publish runs a publisher once, with the owner "me" and the text registry.
func publish(t *testing.T, p provider.Provider, wanted []*dns.RecordSet) error {
	t.Helper()
	w := publishertest.NewFixture(t)
	if w.Provider = p; !testing.Verbose() {
		w.Log = slog.New(slog.DiscardHandler)
	}
	for i, r := range wanted {
		asked := publishertest.Set(r.Name, r.Type, "")
		wanted[i] = r.Clone()
		wanted[i].Labels[dns.LabelResource], wanted[i].Objects = asked.Labels[dns.LabelResource], asked.Objects
	}
	w.Ask(wanted...)
	return w.Once()
}

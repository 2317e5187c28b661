package google

import (
	"io"
	"net/http"
	"strings"
	"testing"

	dnsapi "google.golang.org/api/dns/v1"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/internal/handlertransport"
	"github.com/signpostd/signpost/testkit/clouddnstest"
	"github.com/signpostd/signpost/testkit/hostiletest"
	"github.com/signpostd/signpost/testkit/providertest"
)

// A hostile or broken server costs a limited amount of memory, and an error says what it does
// (tenants S9).
func TestHostile(t *testing.T) {
	hostiletest.Run(t, "google", func(t *testing.T, in provider.Input) provider.Provider {
		prepare(t)
		return open(t, in)
	})
}

// If another server responds with success, such as a proxy, a zone isn't empty and a change isn't made.
func TestOtherServer(t *testing.T) {
	prepare(t)
	for _, status := range []int{http.StatusOK, http.StatusNoContent} {
		in := input(clouddnstest.New())
		tokens := in.Wrap(nil)
		in.Wrap = providertest.Through(handlertransport.Func(func(r *http.Request) (*http.Response, error) {
			if r.URL.Host != "dns.googleapis.com" {
				return tokens.RoundTrip(r)
			}
			return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}")), Request: r}, nil
		}))
		p := open(t, in)
		if _, err := p.Zones(t.Context()); err == nil || !strings.Contains(err.Error(), "no list of zones") {
			t.Errorf("%d: zones: %v", status, err)
		}
		if _, err := p.api.sets(t.Context(), dns.Zone{ID: shop, Name: zoneName}); err == nil || !strings.Contains(err.Error(), "no list of record sets") {
			t.Errorf("%d: record sets: %v", status, err)
		}
		if err := p.api.change(t.Context(), shop, &dnsapi.Change{}); err == nil || provider.NothingMade(err) || !strings.Contains(err.Error(), "no ID of the change") {
			t.Errorf("%d: change: %v", status, err)
		}
	}
}

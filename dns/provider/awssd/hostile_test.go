package awssd

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/internal/handlertransport"
	"github.com/signpostd/signpost/testkit/hostiletest"
	"github.com/signpostd/signpost/testkit/providertest"
)

// A hostile or broken server costs a limited amount of memory, and an error says what it does
// (tenants S9).
func TestHostile(t *testing.T) {
	hostiletest.Run(t, "aws-sd", func(t *testing.T, in provider.Input) provider.Provider {
		start(t)
		return open(t, in)
	})
}

// If another server responds with success, such as a proxy, a namespace isn't empty and a change isn't made.
func TestOtherServer(t *testing.T) {
	start(t)
	for _, body := range []string{"", "{}", "null"} {
		in := input()
		in.Wrap = providertest.Through(handlertransport.Func(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
		}))
		p, zone := open(t, in), dns.Zone{ID: "ns-1", Name: zoneName}
		if _, err := p.Zones(t.Context()); err == nil || !strings.Contains(err.Error(), "no list of namespaces") {
			t.Errorf("%q: zones: %v", body, err)
		}
		if _, err := p.account.services(t.Context(), zone, in.Budget.Zone(zone)); err == nil || !strings.Contains(err.Error(), "no list of services") {
			t.Errorf("%q: services: %v", body, err)
		}
		if _, err := p.account.instances(t.Context(), "srv-1", nil); err == nil || !strings.Contains(err.Error(), "no list of instances") {
			t.Errorf("%q: instances: %v", body, err)
		}
		if _, err := p.account.register(t.Context(), "srv-1", instance{id: "i", attributes: map[string]string{attributeIPv4: "192.0.2.1"}}); err == nil || provider.NothingMade(err) || !strings.Contains(err.Error(), "no ID of an operation") {
			t.Errorf("%q: register: %v", body, err)
		}
	}
}

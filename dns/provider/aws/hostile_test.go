package aws

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/internal/handlertransport"
	"github.com/signpostd/signpost/testkit/hostiletest"
	"github.com/signpostd/signpost/testkit/providertest"
)

// A hostile or broken server costs a limited amount of memory, and an error says what it does
// (tenants S9).
func TestHostile(t *testing.T) {
	hostiletest.Run(t, "aws", func(t *testing.T, in provider.Input) provider.Provider {
		start(t)
		return open(t, in)
	})
}

// If another server responds with success, such as a proxy, a zone isn't empty and a change isn't made.
func TestOtherServer(t *testing.T) {
	start(t)
	for _, body := range []string{"", "<html><body>Sign in</body></html>"} {
		in := input()
		in.Wrap = providertest.Through(handlertransport.Func(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
		}))
		p, zone := open(t, in), dns.Zone{ID: "Z1", Name: zoneName}
		if _, err := p.Zones(t.Context()); err == nil || !strings.Contains(err.Error(), "no list of zones") {
			t.Errorf("%q: zones: %v", body, err)
		}
		if _, err := p.accounts[0].sets(t.Context(), zone); err == nil || !strings.Contains(err.Error(), "no list of record sets") {
			t.Errorf("%q: record sets: %v", body, err)
		}
		if _, err := p.accounts[0].getRecordSet(t.Context(), zone.ID, dns.Key{Name: zoneName, Type: dns.TypeA}); err == nil || !strings.Contains(err.Error(), "no list of record sets") {
			t.Errorf("%q: record set: %v", body, err)
		}
		if _, err := p.accounts[0].change(t.Context(), zone.ID, []types.Change{{Action: types.ChangeActionCreate, ResourceRecordSet: &types.ResourceRecordSet{Name: &zone.Name, Type: types.RRTypeA}}}); err == nil || provider.NothingMade(err) || !strings.Contains(err.Error(), "no ID of the change") {
			t.Errorf("%q: change: %v", body, err)
		}
	}
}

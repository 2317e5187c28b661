package pdns

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
	hostiletest.Run(t, "pdns", func(t *testing.T, in provider.Input) provider.Provider {
		c := Plugin().New().(*Config)
		c.APIKey = "key"
		p, err := c.Open(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		return p
	})
}

// If another server responds with success, such as a proxy, a zone isn't empty. Nothing is sent then, because
// a record set that seems to be missing would be overwritten.
func TestOtherServer(t *testing.T) {
	for _, body := range []string{"{}", "null", `{"rrset":[]}`} {
		c, in := Plugin().New().(*Config), input()
		c.APIKey = "key"
		in.Wrap = providertest.Through(handlertransport.Func(func(r *http.Request) (*http.Response, error) {
			response := body
			switch {
			case r.Method == http.MethodPatch:
				t.Errorf("%s: the zone is changed", body)
			case strings.HasSuffix(r.URL.Path, "/zones"):
				response = `[{"id":"shop.test.","name":"shop.test."}]`
			}
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(response)), Request: r}, nil
		}))
		p, zone := providertest.Open[*powerDNS](t, c, in), dns.Zone{ID: "shop.test.", Name: "shop.test"}
		if _, err := p.Records(t.Context(), zone); err == nil || !strings.Contains(err.Error(), "rrsets") {
			t.Errorf("%s: record sets: %v", body, err)
		}
		set := &dns.RecordSet{Name: "a.shop.test", Type: dns.TypeA, Targets: []string{"192.0.2.1"}}
		if err := p.Apply(t.Context(), zone, []dns.Change{{New: set}}); err == nil || !strings.Contains(err.Error(), "rrsets") {
			t.Errorf("%s: change: %v", body, err)
		}
	}
}

// If another server responds to a change, it isn't known what was made: PowerDNS responds without a body.
func TestOtherServerToChange(t *testing.T) {
	c, in := Plugin().New().(*Config), input()
	c.APIKey = "key"
	in.Wrap = providertest.Through(handlertransport.Func(func(r *http.Request) (*http.Response, error) {
		response := `{"rrsets":[]}`
		switch {
		case r.Method == http.MethodPatch:
			response = "{}"
		case strings.HasSuffix(r.URL.Path, "/zones"):
			response = `[{"id":"shop.test.","name":"shop.test."}]`
		}
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(response)), Request: r}, nil
	}))
	p, set := providertest.Open[*powerDNS](t, c, in), &dns.RecordSet{Name: "a.shop.test", Type: dns.TypeA, Targets: []string{"192.0.2.1"}}
	err := p.Apply(t.Context(), dns.Zone{ID: "shop.test.", Name: "shop.test"}, []dns.Change{{New: set}})
	if err == nil || provider.NothingMade(err) || !strings.Contains(err.Error(), "status 204") {
		t.Errorf("got %v", err)
	}
}

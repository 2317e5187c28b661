package google

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/internal/handlertransport"
	"github.com/signpostd/signpost/testkit/clouddnstest"
	"github.com/signpostd/signpost/testkit/providertest"
)

func TestOpenErrors(t *testing.T) {
	prepare(t)
	server := clouddnstest.New()
	for _, test := range [][2]string{
		{"--google-zone-visibility=secret", "--google-zone-visibility secret"},
		{"--google-batch-change-size=-1", "--google-batch-change-size -1"},
		{"--google-batch-change-interval=-1s", "--google-batch-change-interval"},
	} {
		if _, err := configure(t, test[0]).Open(t.Context(), input(server)); err == nil || !strings.Contains(err.Error(), test[1]) {
			t.Errorf("%s: %v", test[0], err)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte(`{"type": "service_account", "private_key": "the-secret"`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, file + ".missing"} {
		t.Setenv(credentialsFile, path)
		if _, err := configure(t).Open(t.Context(), input(server)); err == nil || !strings.Contains(err.Error(), credentialsFile+"="+path) || strings.Contains(err.Error(), "the-secret") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// A batch size of zero is for as many as Cloud DNS allows, and more than that isn't asked for
// (spec/clouds.md §3.1, §3.7).
func TestBatchSize(t *testing.T) {
	prepare(t)
	for size, want := range map[string]int{"0": 1000, "5000": 1000, "7": 7} {
		p := open(t, input(clouddnstest.New()), "--google-batch-change-size="+size)
		if p.limit.changes != want || p.Capabilities().BatchSize != min(20*want, 5000) {
			t.Errorf("%s: %d, %d", size, p.limit.changes, p.Capabilities().BatchSize)
		}
	}
}

// A server may answer anything.
func TestStrangeAnswers(t *testing.T) {
	prepare(t)
	const zones = `{"managedZones":[{"name":"shop","dnsName":"shop.test."},null,{"name":"odd","dnsName":"a..b."},{"name":"%s","dnsName":"a.test."}]}`
	for sets, want := range map[string]string{`<html>`: "invalid character", `{"rrsets":[null,{"type":"A","routingPolicy":{}}]}`: ""} {
		in := input(clouddnstest.New())
		server := in.Wrap(nil)
		in.Wrap = providertest.Through(handlertransport.Func(func(r *http.Request) (*http.Response, error) {
			if r.URL.Host != "dns.googleapis.com" {
				return server.RoundTrip(r)
			}
			body := fmt.Sprintf(zones, strings.Repeat("x", 64))
			if strings.HasSuffix(r.URL.Path, "/rrsets") {
				body = sets
			}
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
		}))
		p := open(t, in)
		zones, err := p.Zones(t.Context())
		if err != nil || len(zones) != 1 {
			t.Fatalf("zones %v, %v", zones, err)
		}
		_, err = p.Records(t.Context(), zones[0])
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v", sets, err)
		}
	}
}

// The class of each answer (spec/clouds.md §3.8), and that what Google says is bounded and quoted.
func TestClasses(t *testing.T) {
	withFixture(t, func(w *fixture) {
		p := w.open()
		zones, err := p.Zones(w.T.Context())
		if err != nil {
			t.Fatal(err)
		}
		named := "'entity.change.additions[a.shop.test.][A]'"
		for _, test := range []struct {
			status          int
			reason, message string
			want            error
		}{
			{403, "rateLimitExceeded", "x", provider.ErrThrottled},
			{403, "userRateLimitExceeded", "x", provider.ErrThrottled},
			{403, "quotaExceeded", "Quota exceeded for quota metric 'Queries'", provider.ErrThrottled},
			{429, "", "x", provider.ErrThrottled},
			{403, "quotaExceeded", "Quota 'ResourceRecordSetsPerManagedZone' exceeded", provider.ErrRejected},
			{413, "x", "x", provider.ErrRejected},
			{403, "forbidden", "x", provider.ErrCredentials},
			{403, "accessNotConfigured", "x", provider.ErrCredentials},
			{401, "authError", "x", provider.ErrCredentials},
			{409, "alreadyExists", "The resource " + named + " already exists", provider.ErrStale},
			{412, "conditionNotMet", "Precondition not met", provider.ErrStale},
			{404, "notFound", "The " + named + " does not exist", provider.ErrStale},
			{404, "notFound", "The 'parameters.managedZone' does not exist", provider.ErrStale},
			{400, "invalid", "Invalid value for " + named, provider.ErrRejected},
			{400, "cnameResourceRecordSetConflict", "The resource record set " + named, provider.ErrRejected},
			{500, "internalError", "x", nil},
			{503, "backendError", "x", nil},
			{500, "internalError", strings.Repeat("x\n", 10_000), nil},
		} {
			w.refuseIf(&clouddnstest.Fault{Status: test.status, Reason: test.reason, Message: test.message}, func(c clouddnstest.Call) bool { return c.Operation == clouddnstest.CreateChange })
			err = p.Apply(w.T.Context(), zones[0], []dns.Change{{New: set("a.shop.test", "A", "192.0.2.1")}})
			if err == nil || test.want != nil && !errors.Is(err, test.want) || test.want == nil && provider.NothingMade(err) {
				t.Errorf("%d %s: %v, want %v", test.status, test.reason, err, test.want)
			}
			if err != nil && (len(err.Error()) > 1500 || strings.Contains(err.Error(), "\n")) {
				t.Errorf("%d %s: the error has %d bytes", test.status, test.reason, len(err.Error()))
			}
			time.Sleep(time.Hour / 4)
		}
	})
}

// Only what the token server says makes the credentials wrong; what it says has no end, and no
// secret of ours.
func TestTokenErrors(t *testing.T) {
	prepare(t)
	for status, want := range map[int]error{400: provider.ErrCredentials, 401: provider.ErrCredentials, 429: nil, 500: nil, 0: nil} {
		synctest.Test(t, func(t *testing.T) {
			in := input(clouddnstest.New())
			in.Wrap = func(http.RoundTripper) http.RoundTripper {
				return handlertransport.Func(func(r *http.Request) (*http.Response, error) {
					if r.URL.Host != "oauth2.googleapis.com" {
						t.Errorf("%s is asked without a token", r.URL.Host)
					}
					if status == 0 {
						return nil, errors.New("no network")
					}
					return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(strings.Repeat("x\n", 5000))), Request: r}, nil
				})
			}
			_, err := open(t, in).Zones(t.Context())
			if err == nil || provider.NothingMade(err) != (want != nil) || want != nil && !errors.Is(err, want) || len(err.Error()) > 1000 {
				t.Errorf("%d: %v", status, err)
			}
		})
	}
}

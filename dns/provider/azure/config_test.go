package azure

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/internal/handlertransport"
	"github.com/signpostd/signpost/internal/sharedflags"
	"github.com/signpostd/signpost/testkit/azuretest"
)

// Both providers have the same values of flags.
func TestFlags(t *testing.T) {
	flags, shared := pflag.NewFlagSet("", pflag.ContinueOnError), &sharedflags.Set{}
	configs := []provider.Config{Plugin().New(), PrivatePlugin().New()}
	for _, c := range configs {
		shared.Give(c)
	}
	shared.Flags(flags)
	if err := flags.Parse([]string{"--azure-resource-group=one"}); err != nil {
		t.Fatal(err)
	}
	if configs[0].(*Config).Group != "one" || configs[1].(*Config).Group != "one" {
		t.Error("the providers have different values")
	}
}

// What can be known to be wrong without asking anybody. No error shows a secret.
func TestOpenErrors(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "broken.json")
	if err := os.WriteFile(broken, []byte(`{"aadClientSecret": "the-client-secret" "x"`), 0o600); err != nil {
		t.Fatal(err)
	}
	huge := filepath.Join(t.TempDir(), "huge.json")
	if err := os.WriteFile(huge, bytes.Repeat([]byte(" "), fileLimit+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		settings  map[string]any
		arguments []string
		want      string
	}{
		"no file":          {nil, []string{"--azure-config-file="}, "--azure-config-file: empty"},
		"missing file":     {nil, []string{"--azure-config-file=/nowhere/azure.json"}, "--azure-config-file"},
		"broken file":      {nil, []string{"--azure-config-file=" + broken}, "not the settings of Azure in JSON"},
		"huge file":        {nil, []string{"--azure-config-file=" + huge}, "has more than"},
		"no subscription":  {map[string]any{"subscriptionId": ""}, nil, "--azure-subscription-id"},
		"no group":         {map[string]any{"resourceGroup": ""}, nil, "--azure-resource-group"},
		"group as a path":  {nil, []string{"--azure-resource-group=/subscriptions/x/resourceGroups/y"}, "not a path"},
		"cache":            {nil, []string{"--azure-zones-cache-duration=-1s"}, "--azure-zones-cache-duration"},
		"unknown cloud":    {map[string]any{"cloud": "AzureMoonCloud"}, nil, `cloud "AzureMoonCloud"`},
		"no endpoint":      {map[string]any{"resourceManagerEndpoint": ""}, nil, "resourceManagerEndpoint"},
		"plain endpoint":   {map[string]any{"resourceManagerEndpoint": "http://azure.invalid"}, nil, "resourceManagerEndpoint"},
		"no authority":     {map[string]any{"activeDirectoryAuthorityHost": ""}, nil, "activeDirectoryAuthorityHost"},
		"no credentials":   {map[string]any{"aadClientSecret": ""}, nil, "it names no credentials"},
		"only msi":         {map[string]any{"aadClientId": "msi", "aadClientSecret": "msi"}, nil, "it names no credentials"},
		"tenant":           {map[string]any{"tenantId": "a b"}, nil, "aadClientId and aadClientSecret"},
		"workload, no pod": {map[string]any{"aadClientSecret": "msi", "useWorkloadIdentityExtension": true}, nil, "useWorkloadIdentityExtension"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("AZURE_FEDERATED_TOKEN_FILE", "")
			_ = os.Unsetenv("AZURE_FEDERATED_TOKEN_FILE")
			arguments := append([]string{"--azure-config-file=" + settingsFile(t, nowhere, test.settings)}, test.arguments...)
			_, err := configure(t, false, arguments...).Open(t.Context(), input())
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), azuretest.ClientSecret) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

// The order of credentials (spec/clouds.md §4.1): a client secret, a workload identity, a managed
// identity.
func TestCredentials(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte(azuretest.Assertion), 0o600); err != nil {
		t.Fatal(err)
	}
	managed := map[string]any{"aadClientId": "msi", "aadClientSecret": "msi", "useManagedIdentityExtension": true}
	for name, test := range map[string]struct {
		settings  map[string]any
		arguments []string
		// asked is what the request for a token has in its URL or its body.
		asked string
	}{
		"client secret first": {map[string]any{"useManagedIdentityExtension": true, "useWorkloadIdentityExtension": true}, nil, "client_secret="},
		"workload identity":   {map[string]any{"aadClientSecret": "", "useManagedIdentityExtension": true, "useWorkloadIdentityExtension": true}, nil, "client_assertion="},
		"managed identity":    {managed, nil, "metadata/identity"},
		"user-assigned":       {managed, []string{"--azure-user-assigned-identity-client-id=" + azuretest.Identity}, "client_id=" + azuretest.Identity},
		"without authority":   {map[string]any{"aadClientSecret": "", "useManagedIdentityExtension": true, "activeDirectoryAuthorityHost": ""}, nil, "metadata/identity"},
		"by resource ID":      {managed, []string{"--azure-user-assigned-identity-client-id=/subscriptions/x/identity"}, "_res_id="},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("AZURE_FEDERATED_TOKEN_FILE", token)
			t.Setenv("AZURE_CLIENT_ID", azuretest.ClientID)
			t.Setenv("AZURE_TENANT_ID", azuretest.Tenant)
			server, asked := azuretest.New(), ""
			server.AddZone(zoneName, azuretest.Group)
			in := input()
			in.DryRun = true // A token is got nevertheless.
			in.Wrap = func(http.RoundTripper) http.RoundTripper {
				return handlertransport.Func(func(r *http.Request) (*http.Response, error) {
					if isToken(r) {
						body := []byte(nil)
						if r.Body != nil {
							body, _ = io.ReadAll(r.Body)
							r.Body = io.NopCloser(bytes.NewReader(body))
						}
						asked += r.URL.String() + " " + string(body)
					}
					return server.Transport().RoundTrip(r)
				})
			}
			arguments := append([]string{"--azure-config-file=" + settingsFile(t, nowhere, test.settings)}, test.arguments...)
			zones, err := open(t, in, false, arguments...).Zones(t.Context())
			if err != nil || len(zones) != 1 || !strings.Contains(asked, test.asked) {
				t.Errorf("zones %v, %v, asked with %s", zones, err, asked)
			}
		})
	}
}

// The clouds of Microsoft have their own hosts, for tokens and for everything else.
func TestClouds(t *testing.T) {
	for cloud, want := range map[string][2]string{
		"":                       {"login.microsoftonline.com", "management.azure.com"},
		"AzurePublicCloud":       {"login.microsoftonline.com", "management.azure.com"},
		"AZURECLOUD":             {"login.microsoftonline.com", "management.azure.com"},
		"AzureUSGovernment":      {"login.microsoftonline.us", "management.usgovcloudapi.net"},
		"AzureUSGovernmentCloud": {"login.microsoftonline.us", "management.usgovcloudapi.net"},
		"AzureChinaCloud":        {"login.chinacloudapi.cn", "management.chinacloudapi.cn"},
		"AzureStackCloud":        {"azure.invalid", "azure.invalid"},
	} {
		t.Run(cloud, func(t *testing.T) {
			server := azuretest.New()
			var tokens, others, agents []string
			in := input()
			in.Wrap = func(http.RoundTripper) http.RoundTripper {
				return handlertransport.Func(func(r *http.Request) (*http.Response, error) {
					if isToken(r) {
						tokens = append(tokens, r.URL.Host)
					} else if strings.HasPrefix(r.URL.Path, "/subscriptions") {
						others, agents = append(others, r.URL.Host), append(agents, r.UserAgent())
						if r.Header.Get("x-ms-client-request-id") == "" {
							t.Error("the request has no ID")
						}
					}
					return server.Transport().RoundTrip(r)
				})
			}
			if _, err := open(t, in, true, "--azure-config-file="+settingsFile(t, nowhere, map[string]any{"cloud": cloud})).Zones(t.Context()); err != nil {
				t.Fatal(err)
			}
			if len(tokens) != 1 || tokens[0] != want[0] || len(others) != 1 || others[0] != want[1] || !strings.Contains(agents[0], "signpost/") {
				t.Errorf("tokens from %v, zones from %v with %v; want %v", tokens, others, agents, want)
			}
		})
	}
}

// A wrong secret is one request, and no error shows it.
func TestWrongSecret(t *testing.T) {
	server := azuretest.New()
	in := input()
	in.Wrap = func(http.RoundTripper) http.RoundTripper { return server.Transport() }
	file := settingsFile(t, nowhere, map[string]any{"aadClientSecret": "wrong-secret"})
	_, err := open(t, in, false, "--azure-config-file="+file).Zones(t.Context())
	if !errors.Is(err, provider.ErrCredentials) || !strings.Contains(err.Error(), "AADSTS7000215") || strings.Contains(err.Error(), "wrong-secret") || strings.Contains(err.Error(), "Timestamp") {
		t.Errorf("error %v", err)
	}
	tokens := 0
	for _, c := range server.Calls() {
		if c.Operation != "Token" {
			t.Errorf("a request without a token: %v", c)
		}
		tokens++
	}
	if tokens > 2 { // One is for the configuration.
		t.Errorf("%d requests", tokens)
	}
}

// A token that ends is replaced, and one that can't be had has a class.
func TestTokens(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.Provider = w.open()
		w.Settle(2, set("a.shop.test", "A", "192.0.2.1"))
		time.Sleep(2 * time.Hour)
		w.Settle(1, set("a.shop.test", "A", "192.0.2.2"))
		w.server.Revoke()
		if _, err := w.Provider.Zones(w.T.Context()); !errors.Is(err, provider.ErrCredentials) || !strings.Contains(err.Error(), "401") {
			t.Errorf("a revoked token: %v", err)
		}
	})
	for name, test := range map[string]struct {
		fault *azuretest.Fault
		want  error
	}{"throttled": {azuretest.Throttled(600), provider.ErrThrottled}, "failed": {azuretest.Failed, provider.ErrCredentials}, "lost": {azuretest.Lost, provider.ErrCredentials}} {
		t.Run(name, func(t *testing.T) {
			withFixture(t, func(w *fixture) {
				w.before(func(c azuretest.Call) *azuretest.Fault {
					if c.Operation == "Token" {
						return test.fault
					}
					return nil
				})
				if _, err := w.open().Zones(w.T.Context()); !errors.Is(err, test.want) {
					t.Errorf("error %v, want %v", err, test.want)
				}
			})
		})
	}
	withFixture(t, func(w *fixture) {
		ctx, cancel := context.WithCancel(w.T.Context())
		cancel()
		if _, err := w.open().Zones(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	})
}

// The class of each answer to a change (spec/clouds.md §4.7), in both forms of errors.
func TestClasses(t *testing.T) {
	for status, want := range map[int]error{
		400: provider.ErrRejected, 401: provider.ErrCredentials, 403: provider.ErrCredentials, 404: provider.ErrStale, 409: provider.ErrStale, 412: provider.ErrStale, 429: provider.ErrThrottled, 500: nil, 503: nil,
	} {
		for _, bare := range []bool{true, false} {
			withFixture(t, func(w *fixture) {
				p := w.open()
				zones, err := p.Zones(w.T.Context())
				if err != nil {
					t.Fatal(err)
				}
				w.before(func(c azuretest.Call) *azuretest.Fault {
					if c.Writes() {
						return &azuretest.Fault{Status: status, Code: "TheCode", Message: "the message" + strings.Repeat("x", 2*maxMessage), Bare: bare}
					}
					return nil
				})
				err = p.Apply(w.T.Context(), zones[0], []dns.Change{{New: set("a.shop.test", "A", "192.0.2.1")}})
				if err == nil || want != nil && !errors.Is(err, want) || want == nil && provider.NothingMade(err) || !strings.Contains(err.Error(), "the message") || len(err.Error()) > 2*maxMessage {
					t.Errorf("%d: %v, want %v", status, err, want)
				}
			})
		}
	}
}

// A zone that is gone has the zones listed again, also if the list is cached.
func TestZoneGone(t *testing.T) {
	inBoth(t, func(w *fixture) {
		w.arguments = append(w.arguments, "--azure-zones-cache-duration=1h")
		w.addZone("other.test", azuretest.Group)
		p := w.open()
		for range 2 {
			if zones, err := p.Zones(w.T.Context()); err != nil || len(zones) != 2 {
				t.Fatalf("%v, %v", zones, err)
			}
		}
		if n := w.server.Operations()[azuretest.ListZones]; n != 1 {
			t.Errorf("%d listings of the zones", n)
		}
		zones, _ := p.Zones(w.T.Context())
		w.server.DeleteZone("other.test")
		if _, err := p.Records(w.T.Context(), zones[0]); err == nil {
			t.Error("no error")
		}
		if zones, err := p.Zones(w.T.Context()); err != nil || len(zones) != 1 {
			t.Errorf("%v, %v", zones, err)
		}
	})
}

// What a server answers has limits, and a token goes to no other server.
func TestHostileServer(t *testing.T) {
	const set = `{"id":"x","name":"a","type":"Microsoft.Network/dnszones/A","properties":{"TTL":60,"ARecords":[null,{"ipv4Address":"192.0.2.1"}]}}`
	for name, test := range map[string]struct{ zones, sets, want string }{
		"another server": {`{"value":[],"nextLink":"https://evil.invalid/subscriptions"}`, "", "redirects to another server"},
		"zones again":    {`{"value":[],"nextLink":"https://azure.invalid/subscriptions/again"}`, "", "has no end"},
		"sets again":     {"", `{"value":[` + set + `],"nextLink":"https://azure.invalid/subscriptions/x/all?again"}`, "has no end"},
		"not JSON":       {"<html>", "", "unmarshalling"},
		"nothing":        {`{}`, "", "the response has no list of zones"},
		"nulls":          {`{"value":[null,{},{"id":"x"},{"name":"x"},{"id":"/x/Z","name":"a b"}]}`, "", "there is no managed zone"},
		"null sets":      {"", `{"value":[null,{},{"name":"a"},{"name":"a","type":"A"},{"type":"x/A","properties":{}},` + set + `,` + set + `]}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := azuretest.New()
				in := input()
				in.Wrap = func(http.RoundTripper) http.RoundTripper {
					return handlertransport.Func(func(r *http.Request) (*http.Response, error) {
						if r.URL.Host != "azure.invalid" {
							t.Errorf("a request to %s", r.URL.Host)
						}
						body := test.zones
						switch {
						case !strings.HasPrefix(r.URL.Path, "/subscriptions"):
							return server.Transport().RoundTrip(r)
						case strings.HasSuffix(r.URL.Path, "/all"):
							body = test.sets
						case body == "":
							body = `{"value":[{"id":"/x/Z","name":"Shop.Test"}]}`
						}
						return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
					})
				}
				p := open(t, in, false, "--azure-config-file="+settingsFile(t, nowhere, nil))
				_, err := p.Zones(t.Context())
				var sets []*dns.RecordSet
				if err == nil {
					sets, err = p.Records(t.Context(), dns.Zone{ID: "/x/Z", Name: zoneName})
				}
				if test.want == "" && (err != nil || len(sets) != 1) || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
					t.Errorf("got %v, %v", sets, err)
				}
			})
		})
	}
}

// Answers to changes that say nothing don't confuse what is known.
func TestEmptyAnswers(t *testing.T) {
	inBoth(t, func(w *fixture) {
		in := input()
		in.Wrap = func(http.RoundTripper) http.RoundTripper {
			return handlertransport.Func(func(r *http.Request) (*http.Response, error) {
				resp, err := w.server.Transport().RoundTrip(r)
				if err == nil && r.Method == http.MethodPut {
					resp.Body = io.NopCloser(strings.NewReader(`{"name":"other","type":"x/SOA","properties":{"TTL":1}}`))
				}
				return resp, err
			})
		}
		p := open(w.T, in, w.private, w.arguments...)
		zones, err := p.Zones(w.T.Context())
		if err != nil {
			t.Fatal(err)
		}
		one, two := set("a.shop.test", "A", "192.0.2.1"), set("a.shop.test", "A", "192.0.2.2")
		for i, step := range []struct {
			change dns.Change
			want   []string
		}{{dns.Change{New: one}, []string{"a A 192.0.2.1"}}, {dns.Change{Old: one, New: two}, []string{"a A 192.0.2.2"}}, {dns.Change{Old: two}, nil}} {
			if err := p.Apply(w.T.Context(), zones[0], []dns.Change{step.change}); err != nil {
				t.Fatalf("change %d: %v", i, err)
			}
			w.Expect(step.want...)
			if _, err := p.Records(w.T.Context(), zones[0]); err != nil {
				t.Errorf("after change %d: %v", i, err)
			}
		}
	})
}

// Zones that an ExternalDNS has made are adopted as they are: nothing is written (spec/dns.md
// §4.2.6). It keeps the quotes of its texts.
func TestAdopt(t *testing.T) {
	records := map[string]azuretest.Properties{
		"www A":      {A: []azuretest.A{{Address: "192.0.2.1"}, {Address: "192.0.2.2"}}},
		"www AAAA":   {AAAA: []azuretest.AAAA{{Address: "2001:db8:0::1"}}},
		"docs CNAME": {CNAME: &azuretest.CNAME{Name: "Pages.example.net"}, Metadata: map[string]string{"team": "web", "a": "b"}},
		"mail MX":    {MX: []azuretest.MX{{Preference: 10, Exchange: "mx.example.net."}}},
		"note TXT":   {TXT: []azuretest.TXT{{Strings: []string{`"v=spf1 -all"`}}}},
	}
	wanted := func() []*dns.RecordSet {
		return []*dns.RecordSet{
			set("www.shop.test", "A", "192.0.2.2,192.0.2.1"), set("www.shop.test", "AAAA", "2001:db8::1"), set("docs.shop.test", "CNAME", "pages.example.net", "azure/tags=team=web,a=b"),
			set("mail.shop.test", "MX", "10 mx.example.net"), set("note.shop.test", "TXT", `"v=spf1 -all"`),
		}
	}
	for name, prefix := range map[string]string{"default": "", "prefix": "own-", "template": "%{record_type}-own."} {
		for format, names := range map[string]func(name, recordType string) []string{
			"today's": func(name, recordType string) []string {
				return []string{ownershipRecordName(prefix, name, recordType, true)}
			},
			"both": func(name, recordType string) []string {
				return []string{ownershipRecordName(prefix, name, recordType, true), ownershipRecordName(prefix, name, recordType, false)}
			},
		} {
			if prefix == "" && format == "both" {
				continue // The old format would be beside a CNAME.
			}
			t.Run(name+" "+format, func(t *testing.T) {
				inBoth(t, func(w *fixture) {
					w.Prefix, w.Managed = prefix, []string{"A", "AAAA", "CNAME", "MX", "TXT"}
					ttl := int64(300)
					for key, p := range records {
						recordName, recordType, _ := strings.Cut(key, " ")
						p.TTL = &ttl
						w.server.Set(zoneName, azuretest.RecordSet{Name: recordName, Type: recordType, Properties: p})
						for _, ownership := range names(recordName, recordType) {
							text := azuretest.Properties{TTL: &ttl, Metadata: maps.Clone(p.Metadata), TXT: []azuretest.TXT{{Strings: []string{`"heritage=external-dns,external-dns/owner=me,external-dns/resource=service/default/web"`}}}}
							w.server.Set(zoneName, azuretest.RecordSet{Name: ownership, Type: "TXT", Properties: text})
						}
					}
					w.Publish(0, wanted()...)
				})
			})
		}
	}
}

// ownershipRecordName returns the name of an ownership record as ExternalDNS makes it, with or without the
// type.
func ownershipRecordName(prefix, name, recordType string, typed bool) string {
	t := strings.ToLower(recordType)
	switch {
	case strings.Contains(prefix, "%{record_type}") && typed:
		return strings.ReplaceAll(prefix, "%{record_type}", t) + name
	case strings.Contains(prefix, "%{record_type}"):
		return strings.ReplaceAll(prefix, "%{record_type}", "") + name
	case typed:
		return prefix + t + "-" + name
	}
	return prefix + name
}

// The log of a failure says what failed, and has no secret.
func TestLogHasNoSecret(t *testing.T) {
	var log bytes.Buffer
	withFixture(t, func(w *fixture) {
		in := input()
		in.Log, in.Wrap = slog.New(slog.NewTextHandler(&log, nil)), transportOf(w.server)
		w.server.Deny(azuretest.ListZones, "")
		_, err := open(w.T, in, false, w.arguments...).Zones(w.T.Context())
		if err == nil || strings.Contains(err.Error()+log.String(), azuretest.ClientSecret) || strings.Contains(err.Error()+log.String(), "token-1") {
			t.Errorf("%v %s", err, log.String())
		}
	})
}

package awssd

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/awsaccess"
	"github.com/signpostd/signpost/dns/listlimit"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/internal/handlertransport"
	"github.com/signpostd/signpost/testkit/cloudmaptest"
)

func TestOpenErrors(t *testing.T) {
	start(t)
	for _, test := range [][2]string{
		{"--aws-zone-type=secret", "--aws-zone-type"},
		{"--aws-api-retries=0", "--aws-api-retries"},
		{"--aws-profile=missing", "missing"},
		{"--aws-sd-create-tag=team", `--aws-sd-create-tag "team": give a key and a value`},
		{"--aws-sd-create-tag==web", "--aws-sd-create-tag"},
		{"--aws-sd-create-tag=" + strings.Repeat("k", 129) + "=v", "at most 128 characters"},
	} {
		if _, err := configure(t, test[0]).Open(t.Context(), input()); err == nil || !strings.Contains(err.Error(), test[1]) {
			t.Errorf("%s: %v", test[0], err)
		}
	}
	if _, err := configure(t, "--aws-sd-create-tag=a=1", "--aws-sd-create-tag=a=2").Open(t.Context(), input()); err == nil || !strings.Contains(err.Error(), "given twice") {
		t.Errorf("a key twice: %v", err)
	}
	t.Setenv("AWS_REGION", "")
	if _, err := configure(t).Open(t.Context(), input()); err == nil || !strings.Contains(err.Error(), "AWS_REGION") {
		t.Errorf("without a region: %v", err)
	}
}

// The filters of namespaces.
func TestFilters(t *testing.T) {
	server := start(t)
	for _, n := range []cloudmaptest.Namespace{
		{ID: "ns-1", Name: "shop.test", Type: cloudmaptest.Public},
		{ID: "ns-2", Name: "sub.shop.test", Type: cloudmaptest.Public},
		{ID: "ns-3", Name: "shop.test", Type: cloudmaptest.Private},
		{ID: "ns-12", Name: "other.test", Type: cloudmaptest.Public},
		{ID: "ns-4", Name: "api.test", Type: cloudmaptest.HTTP},
	} {
		server.AddNamespace(n)
	}
	for _, test := range []struct {
		arguments, domains, ids []string
		want                    string
	}{
		{want: "ns-12 ns-1 ns-3 ns-2"},
		{ids: []string{"ns-1"}, want: "ns-1"},
		{arguments: []string{"--aws-zone-type=private"}, want: "ns-3"},
		{arguments: []string{"--aws-zone-type=public"}, want: "ns-12 ns-1 ns-2"},
		{domains: []string{"sub.shop.test"}, want: "ns-2"},
	} {
		in := input()
		in.Domains, in.ZoneIDs = dns.NewDomainFilter(test.domains, nil), test.ids
		zones, err := open(t, in, test.arguments...).Zones(t.Context())
		var ids []string
		for _, z := range zones {
			ids = append(ids, z.ID)
		}
		if got := strings.Join(ids, " "); err != nil || got != test.want {
			t.Errorf("%+v: %s, %v", test, got, err)
		}
	}
	// A name in a public namespace that isn't managed isn't published to the one above.
	in := input()
	in.ZoneIDs = []string{"ns-1"}
	p := open(t, in)
	if p.DomainFilter(t.Context()).Match("a.shop.test") {
		t.Error("a name passes before the namespaces are known")
	}
	if _, err := p.Zones(t.Context()); err != nil {
		t.Fatal(err)
	}
	if f := p.DomainFilter(t.Context()); !f.Match("a.shop.test") || f.Match("a.sub.shop.test") || f.Match("a.other.test") {
		t.Error("the filter passes names of namespaces that aren't managed")
	}
	in.ZoneIDs = []string{"ns-3"}
	p = open(t, in)
	if _, err := p.Zones(t.Context()); err != nil {
		t.Fatal(err)
	}
	if f := p.DomainFilter(t.Context()); !f.Match("a.sub.shop.test") || f.Match("a.other.test") {
		t.Error("the filter of a private namespace")
	}
}

// Without an endpoint of the user, questions about revisions go to a host of their own; with one,
// all requests go there. Programs are told apart by their names.
func TestHosts(t *testing.T) {
	start(t)
	for endpoint, want := range map[string]string{"": "data-servicediscovery.eu-north-1.amazonaws.com", "http://127.0.0.1:1": "127.0.0.1:1"} {
		t.Setenv("AWS_ENDPOINT_URL_SERVICEDISCOVERY", endpoint)
		host, agent := "", ""
		in := input()
		in.Wrap = func(http.RoundTripper) http.RoundTripper {
			return handlertransport.Func(func(r *http.Request) (*http.Response, error) {
				host, agent = r.URL.Host, r.UserAgent()
				return nil, errors.New("not today")
			})
		}
		if _, err := open(t, in, "--aws-api-retries=1").account.revision(t.Context(), "shop.test", "a"); err == nil || host != want || !strings.Contains(agent, "signpost/") {
			t.Errorf("endpoint %q: host %s, User-Agent %s, %v", endpoint, host, agent, err)
		}
	}
}

// What a server answers has limits: pages that lead nowhere, or have no end, and answers that lack
// what they are for.
func TestHostileServer(t *testing.T) {
	start(t)
	limits := listlimit.Limits{ZoneRecords: 5000}
	const namespaces, services = `{"Namespaces":[{"Id":"ns-1","Name":"shop.test","Type":"DNS_PUBLIC"}]}`, `{"Services":[{"Id":"srv-1","Name":"a","Description":"heritage=external-dns","DnsConfig":{"DnsRecords":[{"Type":"A","TTL":60}]}}]}`
	endless := atomic.Int64{}
	for name, test := range map[string]struct {
		responses map[string]string
		want      string
	}{
		"the same page":             {map[string]string{"ListNamespaces": `{"NextToken":"x"}`}, "comes again"},
		"the same page of services": {map[string]string{"ListServices": `{"NextToken":"x"}`}, "comes again"},
		"no end of instances":       {map[string]string{"ListInstances": "endless"}, "more than"},
		"not JSON":                  {map[string]string{"ListServices": "<html>"}, "ListServices"},
		"nulls":                     {map[string]string{"ListServices": `{"Services":[{}]}`, "ListInstances": `{"Instances":[{"Attributes":null}]}`}, ""},
		"no service":                {map[string]string{"GetService": `{}`}, "the response to GetService has no service"},
		"no operation":              {map[string]string{"GetService": strings.Replace(strings.Replace(services, `"Services":[`, `"Service":`, 1), "]}]}", "]}}", 1), "RegisterInstance": `{}`}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			in := input()
			in.Budget = listlimit.New(limits)
			in.Wrap = func(http.RoundTripper) http.RoundTripper {
				return handlertransport.Func(func(r *http.Request) (*http.Response, error) {
					responses := map[string]string{"ListNamespaces": namespaces, "ListServices": services, "ListInstances": `{}`, "DiscoverInstancesRevision": `{}`}
					body, special := test.responses[actionOf(r)]
					if !special {
						body = responses[actionOf(r)]
					}
					if body == "endless" {
						body = `{"Instances":[` + strings.Repeat(`{"Id":"i"},`, 99) + `{"Id":"i"}],"NextToken":"` + time.Duration(endless.Add(1)).String() + `"}`
					}
					return &http.Response{StatusCode: 200, Header: http.Header{"X-Amzn-Requestid": {"1"}}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
				})
			}
			p := open(t, in, "--aws-api-retries=1")
			zones, err := p.Zones(t.Context())
			if err == nil {
				_, err = p.Records(t.Context(), zones[0])
			}
			if err == nil && test.responses["GetService"] != "" {
				err = p.Apply(t.Context(), zones[0], []dns.Change{{New: &dns.RecordSet{Name: "a.shop.test", Type: "A", Targets: []string{"192.0.2.1"}}}})
				if err == nil || provider.NothingMade(err) {
					t.Errorf("it is known what was made: %v", err)
				}
			}
			if (err == nil) != (test.want == "" && test.responses["GetService"] == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// The class of each answer (spec/clouds.md §2), and that no token is repeated.
func TestClasses(t *testing.T) {
	for code, want := range map[string]error{
		"RequestLimitExceeded": provider.ErrThrottled, "ThrottlingException": provider.ErrThrottled, "AccessDeniedException": provider.ErrCredentials,
		"UnrecognizedClientException": provider.ErrCredentials, "InvalidSignatureException": provider.ErrCredentials, "InvalidInput": provider.ErrRejected, "ResourceLimitExceeded": provider.ErrRejected,
		"NamespaceNotFound": provider.ErrStale, "ServiceAlreadyExists": provider.ErrStale, "InternalFailure": nil,
	} {
		server := start(t)
		server.AddNamespace(cloudmaptest.Namespace{ID: "ns-1", Name: "shop.test", Type: cloudmaptest.Public})
		p := open(t, input())
		zones, err := p.Zones(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		server.SetHooks(cloudmaptest.Hooks{Before: func(c cloudmaptest.Call) *cloudmaptest.Fault {
			status := 400
			if want == nil {
				status = 500
			}
			if c.Operation != "CreateService" {
				return nil
			}
			return &cloudmaptest.Fault{Status: status, Code: code, Message: "x-amz-security-token:the-token\n" + strings.Repeat("x", 10_000)}
		}})
		err = p.Apply(t.Context(), zones[0], []dns.Change{{New: &dns.RecordSet{Name: "a.shop.test", Type: "A", Targets: []string{"192.0.2.1"}}}})
		if err == nil || want != nil && !errors.Is(err, want) || want == nil && provider.NothingMade(err) {
			t.Errorf("%s: %v, want %v", code, err, want)
		}
		if err != nil && (len(err.Error()) > 1000 || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%s: the error repeats all that is said: %v", code, err)
		}
		if errors.Is(err, awsaccess.ErrUnauthenticated) && strings.Contains(err.Error(), "the-token") {
			t.Errorf("%s: the error repeats the token: %v", code, err)
		}
	}
}

// Two publishers share the rate limits of an account in a region, and in no other one.
func TestSharedRateLimits(t *testing.T) {
	start(t)
	in := input()
	in.Accounts = new(provider.Accounts)
	paces := func() (manage, data any) {
		a := open(t, in).account
		if _, err := a.namespaces(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		// There is no such namespace, and the request counts nevertheless.
		if _, err := a.revision(t.Context(), "unknown", "unknown"); err == nil {
			t.Fatal("a service that does not exist has a revision")
		}
		return a.manage.Get(), a.data.Get()
	}
	manage, data := paces()
	if m, d := paces(); m != manage || d != data || manage == data {
		t.Error("the second publisher has its own limits, or both limits are one")
	}
	t.Setenv("AWS_REGION", "eu-west-1")
	if m, d := paces(); m == manage || d == data {
		t.Error("two regions share a limit")
	}
}

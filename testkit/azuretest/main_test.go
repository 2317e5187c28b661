package azuretest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/dns/armdns"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/privatedns/armprivatedns"
	"go.uber.org/goleak"

	"github.com/signpostd/signpost/internal/handlertransport"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const zoneName = "example.test"

// options returns the options of clients for a server.
func options(server *Server) azcore.ClientOptions {
	return azcore.ClientOptions{
		Transport: &http.Client{Transport: server.Transport()}, Retry: policy.RetryOptions{MaxRetries: -1},
		Cloud: cloud.Configuration{ActiveDirectoryAuthorityHost: "https://azure.invalid/", Services: map[cloud.ServiceName]cloud.ServiceConfiguration{
			cloud.ResourceManager: {Endpoint: "https://azure.invalid", Audience: "https://azure.invalid"},
		}},
	}
}

func credential(t *testing.T, server *Server, secret string) azcore.TokenCredential {
	t.Helper()
	c, err := azidentity.NewClientSecretCredential(Tenant, ClientID, secret, &azidentity.ClientSecretCredentialOptions{ClientOptions: options(server), DisableInstanceDiscovery: true})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// publicZone returns a server with a public zone, and the SDK's client for its record sets.
func publicZone(t *testing.T) (*Server, *armdns.RecordSetsClient) {
	t.Helper()
	server := New()
	server.AddZone(zoneName, Group)
	c, err := armdns.NewRecordSetsClient(Subscription, credential(t, server, ClientSecret), &arm.ClientOptions{ClientOptions: options(server), DisableRPRegistration: true})
	if err != nil {
		t.Fatal(err)
	}
	return server, c
}

// privateZone returns a server with a private zone, and the SDK's client for its record sets.
func privateZone(t *testing.T) (*Server, *armprivatedns.RecordSetsClient) {
	t.Helper()
	server := New()
	server.AddPrivateZone(zoneName, Group)
	c, err := armprivatedns.NewRecordSetsClient(Subscription, credential(t, server, ClientSecret), &arm.ClientOptions{ClientOptions: options(server), DisableRPRegistration: true})
	if err != nil {
		t.Fatal(err)
	}
	return server, c
}

// codeOf returns the status and the code of an answer.
func codeOf(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	answer, ok := errors.AsType[*azcore.ResponseError](err)
	if !ok {
		t.Fatalf("not an answer: %v", err)
	}
	return fmt.Sprint(answer.StatusCode, " ", answer.ErrorCode)
}

// addresses returns an A record set.
func addresses(list ...string) *armdns.RecordSetProperties {
	p := &armdns.RecordSetProperties{TTL: new(int64(60))}
	for _, a := range list {
		p.ARecords = append(p.ARecords, &armdns.ARecord{IPv4Address: new(a)})
	}
	return p
}

func texts(parts ...string) *armdns.RecordSetProperties {
	var strings []*string
	for i := range parts {
		strings = append(strings, &parts[i])
	}
	return &armdns.RecordSetProperties{TTL: new(int64(60)), TxtRecords: []*armdns.TxtRecord{{Value: strings}}}
}

func alias(name string) *armdns.RecordSetProperties {
	return &armdns.RecordSetProperties{TTL: new(int64(60)), CnameRecord: &armdns.CnameRecord{Cname: &name}}
}

func with(p *armdns.RecordSetProperties, change func(*armdns.RecordSetProperties)) *armdns.RecordSetProperties {
	change(p)
	return p
}

func put(ctx context.Context, c *armdns.RecordSetsClient, name, recordType string, p *armdns.RecordSetProperties, o *armdns.RecordSetsClientCreateOrUpdateOptions) (string, error) {
	answer, err := c.CreateOrUpdate(ctx, Group, zoneName, name, armdns.RecordType(recordType), armdns.RecordSet{Properties: p}, o)
	if err != nil || answer.Etag == nil {
		return "", err
	}
	return *answer.Etag, nil
}

// dns-zones-records ("Record names", "Time-to-live", "Wildcard records", "CNAME records", "NS
// records", "TXT records") and azure-subscription-service-limits: what is refused, and what isn't.
func TestChecks(t *testing.T) {
	many := make([]string, 21)
	for i := range many {
		many[i] = fmt.Sprintf("192.0.2.%d", i)
	}
	pairs := map[string]*string{}
	for i := range 11 {
		pairs[fmt.Sprint("k", i)] = new("v")
	}
	const bad = "400 BadRequest"
	for name, test := range map[string]struct {
		name, recordType string
		properties       *armdns.RecordSetProperties
		want             string
	}{
		"A":                       {"b", "A", addresses("192.0.2.1"), ""},
		"the apex":                {"@", "A", addresses("192.0.2.1"), ""},
		"a wildcard":              {"*", "A", addresses("192.0.2.1"), ""},
		"a wildcard below":        {"*.x", "A", addresses("192.0.2.1"), ""},
		"underscores":             {"_a._tcp", "TXT", texts("x"), ""},
		"20 records":              {"b", "A", addresses(many[:20]...), ""},
		"21 records":              {"b", "A", addresses(many...), bad},
		"no address":              {"b", "A", addresses("x"), bad},
		"another family":          {"b", "A", addresses("2001:db8::1"), bad},
		"twice":                   {"b", "A", addresses("192.0.2.1", "192.0.2.1"), bad},
		"records of another type": {"b", "AAAA", addresses("192.0.2.1"), bad},
		"an unknown type":         {"b", "NAPTR", addresses(), bad},
		"an asterisk in a label":  {"a-*", "TXT", texts("x"), bad},
		"an asterisk later":       {"x.*", "A", addresses("192.0.2.1"), bad},
		"NS of a wildcard":        {"*", "NS", &armdns.RecordSetProperties{TTL: new(int64(60)), NsRecords: []*armdns.NsRecord{{Nsdname: new("ns.example.net")}}}, bad},
		"a space":                 {"a%20b", "A", addresses("192.0.2.1"), bad},
		"no TTL":                  {"b", "A", with(addresses("192.0.2.1"), func(p *armdns.RecordSetProperties) { p.TTL = nil }), bad},
		"a TTL of 0":              {"b", "A", with(addresses("192.0.2.1"), func(p *armdns.RecordSetProperties) { p.TTL = new(int64(0)) }), bad},
		"the longest TTL":         {"b", "A", with(addresses("192.0.2.1"), func(p *armdns.RecordSetProperties) { p.TTL = new(int64(mostTTL)) }), ""},
		"a longer TTL":            {"b", "A", with(addresses("192.0.2.1"), func(p *armdns.RecordSetProperties) { p.TTL = new(int64(mostTTL + 1)) }), bad},
		"11 pairs of metadata":    {"b", "A", with(addresses("192.0.2.1"), func(p *armdns.RecordSetProperties) { p.Metadata = pairs }), bad},
		"a CNAME":                 {"b", "CNAME", alias("x.example.net"), ""},
		"a CNAME beside A":        {"a", "CNAME", alias("x.example.net"), "409 Conflict"},
		"A beside a CNAME":        {"c", "A", addresses("192.0.2.1"), "409 Conflict"},
		"TXT beside a CNAME":      {"c", "TXT", texts("x"), "409 Conflict"},
		"a CNAME at the apex":     {"@", "CNAME", alias("x.example.net"), bad},
		"a second SOA":            {"b", "SOA", &armdns.RecordSetProperties{TTL: new(int64(60)), SoaRecord: &armdns.SoaRecord{Host: new("x")}}, bad},
		"a string of 255":         {"b", "TXT", texts(strings.Repeat("x", 255)), ""},
		"a string of 256":         {"b", "TXT", texts(strings.Repeat("x", 256)), bad},
		"a text of 4096":          {"b", "TXT", texts(chunks(4096)...), ""},
		"a text of 4097":          {"b", "TXT", texts(chunks(4097)...), bad},
		"no properties":           {"b", "A", nil, bad},
	} {
		t.Run(name, func(t *testing.T) {
			server, c := publicZone(t)
			ttl := int64(60)
			server.Set(zoneName, RecordSet{Name: "a", Type: "A", Properties: Properties{TTL: &ttl, A: []A{{"192.0.2.1"}}}})
			server.Set(zoneName, RecordSet{Name: "c", Type: "CNAME", Properties: Properties{TTL: &ttl, CNAME: &CNAME{"x.example.net"}}})
			before := fmt.Sprint(server.Sets(zoneName))
			_, err := put(t.Context(), c, test.name, test.recordType, test.properties, nil)
			if code := codeOf(t, err); code != test.want {
				t.Fatalf("got %q, want %q: %v", code, test.want, err)
			}
			if changed := fmt.Sprint(server.Sets(zoneName)) != before; changed != (test.want == "") {
				t.Errorf("changed: %v", changed)
			}
		})
	}
}

// chunks returns a text of some bytes in strings that are as long as they can be.
func chunks(n int) []string {
	var list []string
	for ; n > 255; n -= 255 {
		list = append(list, strings.Repeat("x", 255))
	}
	return append(list, strings.Repeat("x", n))
}

// dns-zones-records ("Etags and tags") and REST reference, record-sets, create-or-update and delete:
// conditions.
func TestConditions(t *testing.T) {
	_, c := publicZone(t)
	create := &armdns.RecordSetsClientCreateOrUpdateOptions{IfNoneMatch: new("*")}
	one, err := put(t.Context(), c, "a", "A", addresses("192.0.2.1"), create)
	if err != nil || one == "" {
		t.Fatal(one, err)
	}
	const failed = "412 PreconditionFailed"
	if _, err := put(t.Context(), c, "A", "A", addresses("192.0.2.2"), create); codeOf(t, err) != failed {
		t.Errorf("created twice: %v", err)
	}
	two, err := put(t.Context(), c, "a", "A", addresses("192.0.2.2"), &armdns.RecordSetsClientCreateOrUpdateOptions{IfMatch: &one})
	if err != nil || two == one {
		t.Errorf("%s after %s, %v", two, one, err)
	}
	if _, err := put(t.Context(), c, "a", "A", addresses("192.0.2.3"), &armdns.RecordSetsClientCreateOrUpdateOptions{IfMatch: &one}); codeOf(t, err) != failed {
		t.Errorf("with an old ETag: %v", err)
	}
	if _, err := put(t.Context(), c, "b", "A", addresses("192.0.2.3"), &armdns.RecordSetsClientCreateOrUpdateOptions{IfMatch: &one}); codeOf(t, err) != failed {
		t.Errorf("of nothing: %v", err)
	}
	if _, err := c.Delete(t.Context(), Group, zoneName, "a", "A", &armdns.RecordSetsClientDeleteOptions{IfMatch: &one}); codeOf(t, err) != failed {
		t.Errorf("deleted with an old ETag: %v", err)
	}
	for range 2 { // The second time there is none, which is no failure.
		if _, err := c.Delete(t.Context(), Group, zoneName, "a", "A", &armdns.RecordSetsClientDeleteOptions{IfMatch: &two}); err != nil {
			t.Error(err)
		}
	}
	if _, err := c.Get(t.Context(), Group, zoneName, "a", "A", nil); codeOf(t, err) != "404 NotFound" {
		t.Errorf("get what is gone: %v", err)
	}
}

// dns-zones-records ("SOA records", "NS records"): these come with the zone, and stay.
func TestOwnSets(t *testing.T) {
	_, c := publicZone(t)
	for _, recordType := range []armdns.RecordType{"SOA", "NS"} {
		if _, err := c.Delete(t.Context(), Group, zoneName, "@", recordType, nil); codeOf(t, err) != "400 BadRequest" {
			t.Errorf("%s: %v", recordType, err)
		}
		if _, err := c.Get(t.Context(), Group, zoneName, "@", recordType, nil); err != nil {
			t.Errorf("%s: %v", recordType, err)
		}
	}
}

// dns-private-records ("Record types") and private-dns-autoregistration: a private zone has neither
// NS nor CAA, and what a network has registered can't be changed.
func TestPrivateZones(t *testing.T) {
	server, c := privateZone(t)
	ttl := int64(10)
	server.Set(zoneName, RecordSet{Name: "vm", Type: "A", Properties: Properties{TTL: &ttl, Registered: true, A: []A{{"10.0.0.4"}}}})
	set := armprivatedns.RecordSet{Properties: &armprivatedns.RecordSetProperties{TTL: &ttl, ARecords: []*armprivatedns.ARecord{{IPv4Address: new("192.0.2.1")}}}}
	if _, err := c.CreateOrUpdate(t.Context(), Group, zoneName, "A", "a", set, nil); err != nil {
		t.Error(err)
	}
	if _, err := c.CreateOrUpdate(t.Context(), Group, zoneName, "A", "vm", set, nil); codeOf(t, err) != "400 BadRequest" {
		t.Errorf("changed what is registered: %v", err)
	}
	if _, err := c.Delete(t.Context(), Group, zoneName, "A", "vm", nil); codeOf(t, err) != "400 BadRequest" {
		t.Errorf("deleted what is registered: %v", err)
	}
	for _, recordType := range []armprivatedns.RecordType{"NS", "CAA"} {
		empty := armprivatedns.RecordSet{Properties: &armprivatedns.RecordSetProperties{TTL: &ttl}}
		if _, err := c.CreateOrUpdate(t.Context(), Group, zoneName, recordType, "b", empty, nil); codeOf(t, err) != "400 BadRequest" {
			t.Errorf("%s: %v", recordType, err)
		}
	}
	answer, err := c.Get(t.Context(), Group, zoneName, "A", "vm", nil)
	if err != nil || answer.Properties.IsAutoRegistered == nil || !*answer.Properties.IsAutoRegistered || *answer.Properties.Fqdn != "vm.example.test." {
		t.Errorf("%+v, %v", answer.Properties, err)
	}
}

// REST reference, record-sets, list-all-by-dns-zone: pages, of 100 unless $top says something else,
// of what there was at the beginning. The path is all or recordsets.
func TestPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, c := publicZone(t)
		ttl := int64(60)
		for i := range 248 {
			server.Set(zoneName, RecordSet{Name: fmt.Sprint("n", i), Type: "A", Properties: Properties{TTL: &ttl}})
		}
		for name, test := range map[string]struct {
			options *armdns.RecordSetsClientListAllByDNSZoneOptions
			page    int
			want    string
		}{
			"usual":           {nil, 1000, "[100 100 50]"},
			"more":            {&armdns.RecordSetsClientListAllByDNSZoneOptions{Top: new(int32(200))}, 1000, "[200 50]"},
			"more than there": {&armdns.RecordSetsClientListAllByDNSZoneOptions{Top: new(int32(1000))}, 1000, "[250]"},
			"more than may":   {&armdns.RecordSetsClientListAllByDNSZoneOptions{Top: new(int32(1000))}, 150, "[150 100]"},
		} {
			server.SetPage(test.page)
			var sizes []int
			for pager := c.NewListAllByDNSZonePager(Group, zoneName, test.options); pager.More(); {
				p, err := pager.NextPage(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				sizes = append(sizes, len(p.Value))
			}
			if fmt.Sprint(sizes) != test.want {
				t.Errorf("%s: pages %v, want %s", name, sizes, test.want)
			}
		}
		server.SetPage(1000)
		time.Sleep(4 * time.Second)
		server.SetLag(3 * time.Second)
		server.Set(zoneName, RecordSet{Name: "late", Type: "A", Properties: Properties{TTL: &ttl}})
		for _, want := range []int{250, 251} {
			p, err := c.NewListAllByDNSZonePager(Group, zoneName, &armdns.RecordSetsClientListAllByDNSZoneOptions{Top: new(int32(1000))}).NextPage(t.Context())
			if err != nil || len(p.Value) != want {
				t.Errorf("%d record sets, want %d, %v", len(p.Value), want, err)
			}
			time.Sleep(3 * time.Second)
		}
	})
}

// The resource manager: tokens, versions of the API, names of resources, rights, zones.
func TestRequests(t *testing.T) {
	server, c := publicZone(t)
	ctx := t.Context()
	if _, err := c.Get(ctx, "RG-Dns", "EXAMPLE.test", "@", "SOA", nil); err != nil {
		t.Errorf("names of resources in capitals: %v", err)
	}
	for what, test := range map[string][3]string{
		"no zone":       {Group, "other.test", "404 ParentResourceNotFound"},
		"another group": {"other", zoneName, "404 ParentResourceNotFound"},
	} {
		if _, err := c.Get(ctx, test[0], test[1], "@", "SOA", nil); codeOf(t, err) != test[2] {
			t.Errorf("%s: %v", what, err)
		}
	}
	server.Deny(Put, zoneName)
	if _, err := put(ctx, c, "a", "A", addresses("192.0.2.1"), nil); codeOf(t, err) != "403 AuthorizationFailed" {
		t.Errorf("without the right: %v", err)
	}
	server.Permit(Put, zoneName)
	if _, err := put(ctx, c, "a", "A", addresses("192.0.2.1"), nil); err != nil {
		t.Error(err)
	}
	server.Revoke()
	if _, err := put(ctx, c, "a", "A", addresses("192.0.2.1"), nil); codeOf(t, err) != "401 InvalidAuthenticationToken" {
		t.Errorf("with a token that ended: %v", err)
	}
	const base = "https://azure.invalid/subscriptions/" + Subscription + "/resourceGroups/" + Group + "/providers/Microsoft.Network/"
	for what, test := range map[string]struct {
		url  string
		want int
	}{
		"no version":           {base + "dnsZones", 400},
		"another version":      {base + "dnsZones?api-version=2024-06-01", 400},
		"another type":         {base + "trafficManager?api-version=2018-05-01", 404},
		"another subscription": {strings.Replace(base, Subscription, "x", 1) + "dnsZones?api-version=2018-05-01", 404},
		"no token":             {base + "dnsZones?api-version=2018-05-01", 401},
		"another operation":    {base + "dnsZones/x?api-version=2018-05-01", 405},
		"elsewhere":            {"https://azure.invalid/x", 404},
	} {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, test.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := server.Transport().RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != test.want || resp.Header.Get("x-ms-request-id") == "" {
			t.Errorf("%s: status %d, want %d", what, resp.StatusCode, test.want)
		}
	}
}

// A wrong secret gets no token.
func TestWrongSecret(t *testing.T) {
	server := New()
	if _, err := credential(t, server, "other").GetToken(t.Context(), policy.TokenRequestOptions{Scopes: []string{"https://azure.invalid/.default"}}); err == nil || !strings.Contains(err.Error(), "AADSTS7000215") {
		t.Errorf("error %v", err)
	}
}

// Hooks have a request fail before it has its effect, or after it.
func TestFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, c := publicZone(t)
		fail := func(call Call) *Fault {
			if call.Writes() {
				return Lost
			}
			return nil
		}
		for _, made := range []bool{false, true} {
			hooks := Hooks{Before: fail}
			if made {
				hooks = Hooks{After: fail}
			}
			server.SetHooks(hooks)
			if _, err := put(t.Context(), c, "a", "A", addresses("192.0.2.1"), nil); !errors.Is(err, handlertransport.ErrCut) {
				t.Errorf("error %v", err)
			}
			if there := server.Get(zoneName, "a", "A") != nil; there != made {
				t.Errorf("made: %v, want %v", there, made)
			}
		}
		if calls := server.Calls(); len(calls) == 0 || len(server.Calls()) != 0 {
			t.Errorf("calls %v", calls)
		}
	})
}

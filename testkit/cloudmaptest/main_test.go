package cloudmaptest

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/servicediscovery"
	"github.com/aws/aws-sdk-go-v2/service/servicediscovery/types"
	"github.com/aws/smithy-go"
	"go.uber.org/goleak"

	"github.com/signpostd/signpost/internal/handlertransport"
	"github.com/signpostd/signpost/testkit/awstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type sender struct{ http.RoundTripper }

func (s sender) Do(r *http.Request) (*http.Response, error) { return s.RoundTrip(r) }

// client is the SDK's client for a server.
type client struct {
	*servicediscovery.Client
	t *testing.T
}

func newClient(t *testing.T, server *Server, secret string) client {
	return client{servicediscovery.New(servicediscovery.Options{
		Region: "eu-north-1", Credentials: credentials.NewStaticCredentialsProvider(awstest.AccessKeyID, secret, ""), HTTPClient: sender{server.Transport()}, Retryer: aws.NopRetryer{},
	}), t}
}

// newServer returns a server with the namespaces ns-1, which is public, and ns-2, which has no
// records; and its client.
func newServer(t *testing.T) (*Server, client) {
	server := New()
	server.AddNamespace(Namespace{ID: "ns-1", Name: "example.test", Type: Public})
	server.AddNamespace(Namespace{ID: "ns-2", Name: "api", Type: HTTP})
	return server, newClient(t, server, awstest.SecretAccessKey)
}

func codeOf(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		t.Fatalf("not an answer: %v", err)
	}
	return api.ErrorCode()
}

// config returns what a service makes: types of records, all with one TTL.
func config(policy types.RoutingPolicy, ttl int64, kinds ...types.RecordType) *types.DnsConfig {
	c := &types.DnsConfig{RoutingPolicy: policy}
	for _, kind := range kinds {
		c.DnsRecords = append(c.DnsRecords, types.DnsRecord{Type: kind, TTL: &ttl})
	}
	return c
}

// create creates a service, and returns its ID and the code of the answer.
func (c client) create(name string, conf *types.DnsConfig) (id, code string) {
	c.t.Helper()
	out, err := c.CreateService(c.t.Context(), &servicediscovery.CreateServiceInput{Name: &name, NamespaceId: aws.String("ns-1"), DnsConfig: conf, CreatorRequestId: aws.String("request " + name)})
	if err != nil {
		return "", codeOf(c.t, err)
	}
	return *out.Service.Id, ""
}

// register registers an instance, and returns the operation and the code of the answer.
func (c client) register(service, id string, attributes map[string]string) (operation, code string) {
	c.t.Helper()
	out, err := c.RegisterInstance(c.t.Context(), &servicediscovery.RegisterInstanceInput{ServiceId: &service, InstanceId: &id, Attributes: attributes})
	if err != nil {
		return "", codeOf(c.t, err)
	}
	return *out.OperationId, ""
}

// status returns the status of an operation.
func (c client) status(operation string) types.OperationStatus {
	c.t.Helper()
	out, err := c.GetOperation(c.t.Context(), &servicediscovery.GetOperationInput{OperationId: &operation})
	if err != nil {
		c.t.Fatal(err)
	}
	return out.Operation.Status
}

const (
	a, aaaa, cnames, srv = types.RecordTypeA, types.RecordTypeAaaa, types.RecordTypeCname, types.RecordTypeSrv
	weighted, multi      = types.RoutingPolicyWeighted, types.RoutingPolicyMultivalue
)

// API_CreateService, API_DnsConfig and API_DnsRecord: names, and which records go together.
func TestCreateService(t *testing.T) {
	_, c := newServer(t)
	for name, want := range map[string]string{
		"web": "", "a.b-c_d": "", "_sip._tcp": "", "x": "", "*": "InvalidInput", "": "InvalidInput", "-a": "InvalidInput", "_": "InvalidInput", "a b": "InvalidInput",
		strings.Repeat("a", 64): "InvalidInput", strings.Repeat("a.", 64) + "a": "InvalidInput", "WEB": "ServiceAlreadyExists",
	} {
		if name == "WEB" {
			c.create("web", config(multi, 60, a))
		}
		if _, code := c.create(name, config(multi, 60, a)); code != want && !(name == "web" && code == "") {
			t.Errorf("%q: %s, want %q", name, code, want)
		}
	}
	for i, test := range []struct {
		config *types.DnsConfig
		want   string
	}{
		{config(multi, 60, a, aaaa), ""},
		{config("", 60, srv), ""},
		{config(weighted, 0, cnames), ""},
		{config(multi, 60, cnames), "InvalidInput"},
		{config("", 60, cnames), "InvalidInput"},
		{config(multi, 60, a, cnames), "InvalidInput"},
		{config(multi, 60, a, a), "InvalidInput"},
		{config(multi, 60, a, srv), "InvalidInput"},
		{config(multi, -1, a), "InvalidInput"},
		{config(multi, 1<<31, a), "InvalidInput"},
		{config("RANDOM", 60, a), "InvalidInput"},
		{nil, ""},
	} {
		if _, code := c.create(string(rune('a'+i)), test.config); code != test.want {
			t.Errorf("case %d: %q, want %q", i, code, test.want)
		}
	}
	_, err := c.Client.CreateService(t.Context(), &servicediscovery.CreateServiceInput{Name: aws.String("long"), NamespaceId: aws.String("ns-1"), Description: aws.String(strings.Repeat("é", 1025))})
	if codeOf(t, err) != "InvalidInput" {
		t.Errorf("a description of 1,025 characters: %v", err)
	}
	_, err = c.Client.CreateService(t.Context(), &servicediscovery.CreateServiceInput{Name: aws.String("x"), NamespaceId: aws.String("ns-9")})
	if codeOf(t, err) != "NamespaceNotFound" {
		t.Errorf("a namespace that doesn't exist: %v", err)
	}
	// The answer says which service has the name, and the same request may be repeated.
	id, _ := c.create("twice", config(multi, 60, a))
	if again, code := c.create("twice", config(multi, 60, a)); again != id {
		t.Errorf("the same request makes %s and %s, %s", id, again, code)
	}
	_, err = c.Client.CreateService(t.Context(), &servicediscovery.CreateServiceInput{Name: aws.String("twice"), NamespaceId: aws.String("ns-1"), CreatorRequestId: aws.String("another")})
	if exists, ok := errors.AsType[*types.ServiceAlreadyExists](err); !ok || aws.ToString(exists.ServiceId) != id || aws.ToString(exists.CreatorRequestId) != "request twice" {
		t.Errorf("%v", err)
	}
}

// API_RegisterInstance: the attributes that the records of a service need, and the ID.
func TestRegisterInstance(t *testing.T) {
	_, c := newServer(t)
	four, six, name, elb := map[string]string{ipv4: "192.0.2.1"}, map[string]string{ipv6: "2001:db8::1"}, map[string]string{cname: "example.net"}, map[string]string{alias: "x.elb.amazonaws.com"}
	both := map[string]string{ipv4: "192.0.2.1", ipv6: "2001:db8::1"}
	for label, test := range map[string]struct {
		config     *types.DnsConfig
		attributes map[string]string
		want       string
	}{
		"a":       {config(multi, 60, a), four, ""},
		"b":       {config(multi, 60, a), six, "InvalidInput"},
		"c":       {config(multi, 60, a, aaaa), both, ""},
		"d":       {config(multi, 60, a, aaaa), four, "InvalidInput"},
		"e":       {config(weighted, 60, cnames), name, ""},
		"f":       {config(weighted, 60, cnames), four, "InvalidInput"},
		"g":       {config(weighted, 60, a), elb, ""},
		"h":       {config(multi, 60, a), elb, "InvalidInput"},
		"i":       {config(weighted, 60, cnames), elb, "InvalidInput"},
		"j":       {config(weighted, 60, a), map[string]string{alias: "x", ipv4: "192.0.2.1"}, "InvalidInput"},
		"k":       {config(multi, 60, a), map[string]string{ipv4: "2001:db8::1"}, "InvalidInput"},
		"l":       {config("", 60, srv), four, "InvalidInput"},
		"m":       {config(multi, 60, aaaa), map[string]string{ipv6: "192.0.2.1"}, "InvalidInput"},
		"without": {nil, map[string]string{"any": "thing"}, ""},
	} {
		id, code := c.create(label, test.config)
		if code != "" {
			t.Fatal(label, code)
		}
		if _, code := c.register(id, "i", test.attributes); code != test.want {
			t.Errorf("%s: %q, want %q", label, code, test.want)
		}
		if _, code := c.register(id, strings.Repeat("i", 65), test.attributes); code != "InvalidInput" {
			t.Errorf("%s: an ID of 65 characters: %q", label, code)
		}
	}
	if _, code := c.register("srv-none", "i", four); code != "ServiceNotFound" {
		t.Errorf("a service that doesn't exist: %q", code)
	}
}

// API_RegisterInstance and API_GetOperation: an operation takes its time, and another one for the
// same instance isn't accepted meanwhile. A known ID replaces what the instance has.
func TestOperations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, c := newServer(t)
		server.SetTime(3 * time.Second)
		id, _ := c.create("web", config(multi, 60, a))
		first, _ := c.register(id, "i", map[string]string{ipv4: "192.0.2.1"})
		if c.status(first) != types.OperationStatusSubmitted || len(server.Services("ns-1")["web"].Instances) != 0 {
			t.Error("it is there at once")
		}
		_, err := c.RegisterInstance(t.Context(), &servicediscovery.RegisterInstanceInput{ServiceId: &id, InstanceId: aws.String("i"), Attributes: map[string]string{ipv4: "192.0.2.2"}})
		if running, ok := errors.AsType[*types.DuplicateRequest](err); !ok || aws.ToString(running.DuplicateOperationId) != first {
			t.Errorf("%v", err)
		}
		if _, err := c.DeleteService(t.Context(), &servicediscovery.DeleteServiceInput{Id: &id}); codeOf(t, err) != "ResourceInUse" {
			t.Errorf("deletion while an operation runs: %v", err)
		}
		time.Sleep(3 * time.Second)
		second, _ := c.register(id, "i", map[string]string{ipv4: "192.0.2.2"})
		time.Sleep(3 * time.Second)
		if c.status(first) != types.OperationStatusSuccess || c.status(second) != types.OperationStatusSuccess || server.Services("ns-1")["web"].Instances["i"][ipv4] != "192.0.2.2" {
			t.Errorf("after six seconds: %+v", server.Services("ns-1")["web"])
		}
		server.SetOperation(func(string, string) string { return "INTERNAL_FAILURE" })
		third, _ := c.register(id, "j", map[string]string{ipv4: "192.0.2.3"})
		time.Sleep(3 * time.Second)
		if c.status(third) != types.OperationStatusFail || len(server.Services("ns-1")["web"].Instances) != 1 {
			t.Error("an operation that fails has an effect")
		}
		if _, err := c.GetOperation(t.Context(), &servicediscovery.GetOperationInput{OperationId: aws.String("none")}); codeOf(t, err) != "OperationNotFound" {
			t.Error(err)
		}
	})
}

// API_UpdateService and API_DeleteService: TTLs and the description change, types don't, and a
// service with instances stays.
func TestUpdateAndDelete(t *testing.T) {
	server, c := newServer(t)
	server.Put(Service{Namespace: "ns-1", Name: "web", Config: &DNSConfig{RoutingPolicy: "MULTIVALUE", DNSRecords: []Record{{Type: "A", TTL: 60}}}, Health: &HealthCheckConfig{Type: "TCP"}})
	id := server.Services("ns-1")["web"].ID
	change := func(text *string, conf *types.DnsConfigChange) string {
		_, err := c.UpdateService(t.Context(), &servicediscovery.UpdateServiceInput{Id: &id, Service: &types.ServiceChange{Description: text, DnsConfig: conf}})
		return codeOf(t, err)
	}
	if code := change(aws.String("text"), &types.DnsConfigChange{DnsRecords: config(multi, 120, a).DnsRecords}); code != "" {
		t.Error(code)
	}
	if s := server.Services("ns-1")["web"]; s.Description != "text" || s.Config.DNSRecords[0].TTL != 120 || s.Health != nil {
		t.Errorf("the service is %+v; what is left out is deleted", s)
	}
	if code := change(nil, &types.DnsConfigChange{DnsRecords: config(multi, 120, a).DnsRecords}); code != "" || server.Services("ns-1")["web"].Description != "text" {
		t.Errorf("%s: %+v", code, server.Services("ns-1")["web"])
	}
	for _, conf := range []*types.DnsConfigChange{{DnsRecords: config(multi, 60, a, aaaa).DnsRecords}, {DnsRecords: config(multi, 60, cnames).DnsRecords}, nil} {
		if code := change(nil, conf); code != "InvalidInput" {
			t.Errorf("%v: %q", conf, code)
		}
	}
	c.register(id, "i", map[string]string{ipv4: "192.0.2.1"})
	if _, err := c.DeleteService(t.Context(), &servicediscovery.DeleteServiceInput{Id: &id}); codeOf(t, err) != "ResourceInUse" {
		t.Error(err)
	}
	for _, want := range []string{"", "InstanceNotFound"} {
		if _, err := c.DeregisterInstance(t.Context(), &servicediscovery.DeregisterInstanceInput{ServiceId: &id, InstanceId: aws.String("i")}); codeOf(t, err) != want {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for _, want := range []string{"", "ServiceNotFound"} {
		if _, err := c.DeleteService(t.Context(), &servicediscovery.DeleteServiceInput{Id: &id}); codeOf(t, err) != want {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// API_ListNamespaces, API_ListServices and API_ListInstances: pages and filters. API_GetService has
// what they have. cloud-map-limits: the quota of instances.
func TestLists(t *testing.T) {
	server, c := newServer(t)
	for i := range 120 {
		server.Put(Service{Namespace: "ns-1", Name: strings.Repeat("x", 1+i/26) + string(rune('a'+i%26)), Config: &DNSConfig{DNSRecords: []Record{{Type: "A", TTL: 60}}}})
	}
	filter := []types.ServiceFilter{{Name: types.ServiceFilterNameNamespaceId, Values: []string{"ns-1"}}}
	first, err := c.ListServices(t.Context(), &servicediscovery.ListServicesInput{Filters: filter})
	if err != nil || len(first.Services) != 100 {
		t.Fatal(err)
	}
	second, err := c.ListServices(t.Context(), &servicediscovery.ListServicesInput{Filters: filter, NextToken: first.NextToken})
	if err != nil || len(second.Services) != 20 || second.NextToken != nil {
		t.Fatal(err)
	}
	if _, err := c.ListServices(t.Context(), &servicediscovery.ListServicesInput{Filters: filter, MaxResults: aws.Int32(101)}); codeOf(t, err) != "InvalidInput" {
		t.Errorf("a page of 101: %v", err)
	}
	if _, err := c.ListServices(t.Context(), &servicediscovery.ListServicesInput{Filters: []types.ServiceFilter{{Name: types.ServiceFilterNameNamespaceId, Values: []string{"none"}}}}); codeOf(t, err) != "NamespaceNotFound" {
		t.Error(err)
	}
	one, err := c.GetService(t.Context(), &servicediscovery.GetServiceInput{Id: second.Services[0].Id})
	if err != nil || *one.Service.Name != *second.Services[0].Name || *one.Service.InstanceCount != 0 {
		t.Errorf("%+v, %v", one, err)
	}
	for kind, want := range map[string]int{"DNS_PUBLIC": 1, "DNS_PRIVATE": 0, "HTTP": 1} {
		list, err := c.ListNamespaces(t.Context(), &servicediscovery.ListNamespacesInput{Filters: []types.NamespaceFilter{{Name: types.NamespaceFilterNameType, Values: []string{kind}}}})
		if err != nil || len(list.Namespaces) != want {
			t.Errorf("%s: %v, %v", kind, list, err)
		}
	}
	id := *second.Services[0].Id
	server.SetQuota(2)
	for i, want := range []string{"", "", "ResourceLimitExceeded"} {
		if _, code := c.register(id, string(rune('a'+i)), map[string]string{ipv4: "192.0.2.1"}); code != want {
			t.Errorf("instance %d: %q", i, code)
		}
	}
	instances, err := c.ListInstances(t.Context(), &servicediscovery.ListInstancesInput{ServiceId: &id, MaxResults: aws.Int32(1)})
	if err != nil || len(instances.Instances) != 1 || instances.NextToken == nil || instances.Instances[0].Attributes[ipv4] != "192.0.2.1" {
		t.Errorf("%+v, %v", instances, err)
	}
}

// API_DiscoverInstancesRevision: the number rises with each change, at a host of its own, and some
// time late. Listings lag, too.
func TestLag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, c := newServer(t)
		server.SetLag(2 * time.Second)
		server.SetRevisionLag(2 * time.Second)
		revision := func() int64 {
			out, err := c.DiscoverInstancesRevision(t.Context(), &servicediscovery.DiscoverInstancesRevisionInput{NamespaceName: aws.String("example.test"), ServiceName: aws.String("web")})
			if err != nil {
				if codeOf(t, err) != "ServiceNotFound" {
					t.Error(err)
				}
				return -1
			}
			return *out.InstancesRevision
		}
		listed := func() int {
			out, err := c.ListServices(t.Context(), &servicediscovery.ListServicesInput{})
			if err != nil {
				t.Fatal(err)
			}
			return len(out.Services)
		}
		id, _ := c.create("web", config(multi, 60, a))
		if revision() != -1 || listed() != 0 {
			t.Error("it is known at once")
		}
		time.Sleep(2 * time.Second)
		before := revision()
		c.register(id, "i", map[string]string{ipv4: "192.0.2.1"})
		if revision() != before || listed() != 1 {
			t.Error("the revision has changed at once")
		}
		time.Sleep(2 * time.Second)
		if revision() <= before {
			t.Error("the revision hasn't changed")
		}
		server.Remove("ns-1", "web")
		if listed() != 1 {
			t.Error("the service is gone at once")
		}
		time.Sleep(2 * time.Second)
		if listed() != 0 {
			t.Error("the service is still listed")
		}
	})
}

// CommonErrors and throttling: signatures, rights and the rate of requests; and the hooks.
func TestAdmission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, c := newServer(t)
		list := func(c client) error {
			_, err := c.ListNamespaces(t.Context(), &servicediscovery.ListNamespacesInput{})
			return err
		}
		if err := list(newClient(t, server, "wrong")); codeOf(t, err) != "SignatureDoesNotMatch" {
			t.Error(err)
		}
		server.Deny("ListNamespaces", "")
		if err := list(c); codeOf(t, err) != "AccessDeniedException" {
			t.Error(err)
		}
		server.Permit("ListNamespaces", "")
		server.SetRate(2)
		var codes []string
		for range 3 {
			codes = append(codes, codeOf(t, list(c)))
		}
		if !slices.Equal(codes, []string{"", "", "ThrottlingException"}) {
			t.Errorf("codes %q", codes)
		}
		time.Sleep(time.Second)
		server.SetHooks(Hooks{After: func(Call) *Fault { return Lost }})
		if err := list(c); !errors.Is(err, handlertransport.ErrCut) {
			t.Error(err)
		}
		if calls := server.Calls(); len(calls) != 5 || calls[0].Operation != "ListNamespaces" {
			t.Errorf("calls %v", calls)
		}
	})
	server, _ := newServer(t)
	web := httptest.NewServer(server)
	defer web.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, web.URL, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if http.DefaultClient.CloseIdleConnections(); resp.StatusCode != http.StatusForbidden {
		t.Errorf("without a signature: %s", resp.Status)
	}
}

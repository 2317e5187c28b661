package azure

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/listlimit"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/httpapi"
)

const (
	// tryTimeout limits one try of a request, with the pauses of rateLimit.
	tryTimeout = 2 * time.Minute
	// page is the page size of listings.
	page = 1000
)

// account sends the requests of one provider.
type account struct {
	client *arm.Client
	api    api
	// zonesURL is the URL of the zones of the resource group.
	zonesURL   string
	group      string
	credential azcore.TokenCredential
	scope      string
	writing    policy.RetryOptions
	budget     *listlimit.Budget
}

// account returns the account of the settings. It sends no request.
func (c *Config) account(ctx context.Context, in provider.Input, s *settings) (*account, error) {
	e, err := s.environment()
	if err != nil {
		return nil, err
	}
	// Tokens are needed in a dry run, too.
	signing := in
	signing.DryRun = false
	identity, err := httpapi.NewClient(ctx, signing, httpapi.Options{})
	if err != nil {
		return nil, err
	}
	// The SDK has its own rules for retries of token requests.
	options := policy.ClientOptions{Transport: identity, Retry: policy.RetryOptions{MaxRetries: c.Retries}}
	credential, err := s.credential(e, options)
	if err != nil {
		return nil, err
	}
	client, err := httpapi.NewClient(ctx, in, httpapi.Options{})
	if err != nil {
		return nil, err
	}
	endpoint, err := url.Parse(e.endpoint())
	if err != nil {
		return nil, fmt.Errorf("resourceManagerEndpoint in --azure-config-file: %w", err)
	}
	shared := provider.NewShared(in.Accounts, fmt.Sprintf("azure %s private=%t", endpoint.Host, c.private), func() *httpapi.Throttle {
		return &httpapi.Throttle{Service: "Azure", MaxWait: maxPause}
	})
	client.Transport = &rateLimit{next: client.Transport, host: endpoint.Host, Throttle: shared.Of(s.Subscription)}
	options.Cloud, options.Transport, options.Retry = e.Configuration, client, c.retries(false)
	options.PerRetryPolicies = []policy.Policy{runtime.NewRequestIDPolicy()}
	// A subscription without the resource provider has no zones.
	full := &arm.ClientOptions{ClientOptions: options, DisableRPRegistration: true}
	full.Telemetry.Disabled = true // The client has a User-Agent.
	a := &account{group: s.Group, credential: credential, scope: e.scope(), writing: c.retries(true), budget: in.Budget, api: publicAPI}
	if c.private {
		a.api = privateAPI
	}
	if a.client, err = arm.NewClient("signpost", "", credential, full); err != nil {
		return nil, err
	}
	a.zonesURL = runtime.JoinPaths(a.client.Endpoint(), "subscriptions", url.PathEscape(s.Subscription), "resourceGroups", url.PathEscape(s.Group),
		"providers/Microsoft.Network", a.api.zones)
	return a, nil
}

// call gets a token and makes a request that needs a permission. The token comes first, so that its failure
// is not reported as one of the request.
func (a *account) call(ctx context.Context, right string, send func() error) error {
	// With the options of the SDK, the request uses the same token.
	if _, err := a.credential.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{a.scope}, EnableCAE: true}); err != nil {
		return tokenFailure(ctx, err)
	}
	if err := send(); err != nil {
		return failure(err, right)
	}
	return nil
}

// request is a request for a path below the zones, or for the URL of a next page.
type request struct {
	method, url string
	// right is the permission that the request needs, without the prefix of the zones.
	right string
	// ifMatch and ifNoneMatch are conditions; empty means none.
	ifMatch, ifNoneMatch string
	// body is encoded as JSON; nil means none.
	body any
}

// encode returns the request of the SDK.
func (r request) encode(ctx context.Context) (*policy.Request, error) {
	req, err := runtime.NewRequest(ctx, r.method, r.url)
	if err != nil {
		return nil, err
	}
	for name, value := range map[string]string{"Accept": "application/json", "If-Match": r.ifMatch, "If-None-Match": r.ifNoneMatch} {
		if value != "" {
			req.Raw().Header.Set(name, value)
		}
	}
	if r.body == nil {
		return req, nil
	}
	return req, runtime.MarshalAsJSON(req, r.body)
}

// send sends a request, and decodes the response unless into is nil.
func (a *account) send(ctx context.Context, r request, into any) error {
	return a.call(ctx, "Microsoft.Network/"+a.api.zones+"/"+r.right, func() error {
		req, err := r.encode(ctx)
		if err != nil {
			return err
		}
		resp, err := a.client.Pipeline().Do(req)
		switch {
		case err != nil:
			return err
		case !runtime.HasStatusCode(resp, http.StatusOK, http.StatusCreated, http.StatusNoContent):
			return runtime.NewResponseError(resp)
		case into == nil:
			return nil
		}
		return runtime.UnmarshalAsJSON(resp, into)
	})
}

// at returns the URL for a path below the zones.
func (a *account) at(path ...string) string {
	return runtime.JoinPaths(a.zonesURL, path...) + "?api-version=" + a.api.version
}

// list returns all pages of a list. size returns the memory of an entry in bytes.
func list[T, Entry any](ctx context.Context, a *account, r request, l *listlimit.Listing, size func(Entry) int, convert func(*T) Entry) ([]Entry, error) {
	r.method, r.url = http.MethodGet, fmt.Sprintf("%s&%%24top=%d", r.url, page)
	return listlimit.Pages(l, size, func(next string) (entries []Entry, _ string, err error) {
		var response struct {
			Value    []*T   `json:"value"`
			NextLink string `json:"nextLink"`
		}
		if next != "" {
			if r.url, err = runtime.EncodeQueryParams(next); err != nil {
				return nil, "", err
			}
		}
		if err := a.send(ctx, r, &response); err != nil {
			return nil, "", err
		}
		for _, v := range response.Value {
			if v != nil {
				entries = append(entries, convert(v))
			}
		}
		return entries, response.NextLink, nil
	})
}

func (a *account) zones(ctx context.Context) ([]dns.Zone, error) {
	l := a.budget.Zones("the resource group " + a.group)
	defer l.End(nil)
	return list(ctx, a, request{url: a.at(), right: "read"}, l, zoneSize, a.api.zone)
}

func (a *account) list(ctx context.Context, zone dns.Zone, name string) (sets []*stored, err error) {
	l := a.budget.Zone(zone)
	defer func() { l.End(err) }()
	return list(ctx, a, request{url: a.at(url.PathEscape(name), a.api.all), right: "*/read"}, l, (*stored).size, decode)
}

// set returns the request for a record set.
func (a *account) set(method, right, zone string, k key) request {
	return request{method: method, url: a.at(url.PathEscape(zone), url.PathEscape(k.recordType), k.name), right: "*/" + right}
}

// get returns a record set, or nil if there is none.
func (a *account) get(ctx context.Context, zone string, k key) (*stored, error) {
	var response recordSet
	err := a.send(ctx, a.set(http.MethodGet, "read", zone, k), &response)
	switch {
	case isMissing(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	s := decode(&response)
	s.key = k
	return s, nil
}

// put creates a record set, or replaces the one with an ETag. It returns the record set with its new ETag.
func (a *account) put(ctx context.Context, zone string, s *stored, etag string) (*stored, error) {
	ctx = policy.WithRetryOptions(ctx, a.writing)
	r := a.set(http.MethodPut, "write", zone, s.key)
	if r.ifMatch, r.body = etag, a.api.encode(s); etag == "" {
		r.ifNoneMatch = "*"
	}
	var response recordSet
	now := *s
	err := a.send(ctx, r, &response)
	if err == nil {
		now.etag = response.ETag
	}
	return &now, err
}

// remove deletes a record set. A missing one is no error.
func (a *account) remove(ctx context.Context, zone string, k key, etag string) error {
	ctx = policy.WithRetryOptions(ctx, a.writing)
	r := a.set(http.MethodDelete, "delete", zone, k)
	r.ifMatch = etag
	return a.send(ctx, r, nil)
}

// zoneSize returns the memory of a zone in bytes.
func zoneSize(z dns.Zone) int { return listlimit.ZoneSize + len(z.ID) + 2*len(z.Name) }

// size returns the memory of a record set in bytes, with its listed form.
func (s *stored) size() int {
	const own, each = 256, 96
	n := own + listlimit.EmptySetSize(s.key.name) + len(s.resource)
	for _, r := range s.records {
		n += each + listlimit.TargetSize(r.text)
		for _, part := range r.strings {
			n += listlimit.TargetSize(part)
		}
	}
	for name, value := range s.metadata {
		n += 2 * (listlimit.TargetSize(name) + len(value))
	}
	return n
}

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

// service is the SDK's client for one kind of zones. Zones and record sets have their names as at Azure.
type service interface {
	zones(ctx context.Context, group string, l *listlimit.Listing) ([]dns.Zone, error)
	list(ctx context.Context, group, zone string, l *listlimit.Listing) ([]*stored, error)
	// get returns a record set. It fails with status 404 if there is none.
	get(ctx context.Context, group, zone string, k key) (*stored, error)
	// put creates a record set, or replaces the one with an ETag.
	put(ctx context.Context, group, zone string, s *stored, etag string) (*stored, error)
	remove(ctx context.Context, group, zone string, k key, etag string) error
	// right returns the permission for an action on record sets or zones.
	right(what, action string) string
}

// account sends the requests of one provider.
type account struct {
	service    service
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
	credential, err := c.credentials(e, options, in.Log)
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
	a := &account{group: s.Group, credential: credential, scope: e.scope(), writing: c.retries(true), budget: in.Budget}
	if c.private {
		a.service, err = newPrivateService(s.Subscription, credential, full)
	} else {
		a.service, err = newPublicService(s.Subscription, credential, full)
	}
	return a, err
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

func (a *account) zones(ctx context.Context) (zones []dns.Zone, err error) {
	l := a.budget.Zones("the resource group " + a.group)
	defer l.End(nil)
	err = a.call(ctx, a.service.right("zone", "read"), func() error {
		zones, err = a.service.zones(ctx, a.group, l)
		return err
	})
	return zones, err
}

func (a *account) list(ctx context.Context, zone dns.Zone, name string) (sets []*stored, err error) {
	l := a.budget.Zone(zone)
	defer func() { l.End(err) }()
	err = a.call(ctx, a.service.right("set", "read"), func() error {
		sets, err = a.service.list(ctx, a.group, name, l)
		return err
	})
	return sets, err
}

// get returns a record set, or nil if there is none.
func (a *account) get(ctx context.Context, zone string, k key) (s *stored, err error) {
	err = a.call(ctx, a.service.right("set", "read"), func() error {
		s, err = a.service.get(ctx, a.group, zone, k)
		switch {
		case missing(err):
			s, err = nil, nil
		case err == nil:
			s.key = k
		}
		return err
	})
	return s, err
}

// put creates or replaces a record set, and returns it with its new ETag.
func (a *account) put(ctx context.Context, zone string, s *stored, etag string) (*stored, error) {
	ctx = policy.WithRetryOptions(ctx, a.writing)
	now := *s
	err := a.call(ctx, a.service.right("set", "write"), func() error {
		response, err := a.service.put(ctx, a.group, zone, s, etag)
		if err == nil {
			now.etag = response.etag
		}
		return err
	})
	return &now, err
}

// headerRequestID is in each response of the resource manager.
const headerRequestID = "x-ms-request-id"

// remove deletes a record set. A missing one is no error.
func (a *account) remove(ctx context.Context, zone string, k key, etag string) error {
	ctx = policy.WithRetryOptions(ctx, a.writing)
	var response *http.Response
	ctx = policy.WithCaptureResponse(ctx, &response)
	return a.call(ctx, a.service.right("set", "delete"), func() error {
		if err := a.service.remove(ctx, a.group, zone, k, etag); err != nil {
			return err
		}
		// The response to a deletion has no body, so another server's success looks the same.
		if response == nil || response.Header.Get(headerRequestID) == "" {
			return incomplete("header " + headerRequestID)
		}
		return nil
	})
}

// allPages returns the values of all pages of a listing. size returns the memory of a value in bytes.
func allPages[Page, T any](ctx context.Context, pager *runtime.Pager[Page], l *listlimit.Listing, size func(T) int, read func(Page) (values []T, next *string, err error)) ([]T, error) {
	return listlimit.Pages(l, size, func(string) ([]T, string, error) {
		p, err := pager.NextPage(ctx)
		if err != nil {
			return nil, "", err
		}
		values, next, err := read(p)
		return values, value(next), err
	})
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

// value returns the target of a pointer, or the zero value.
func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

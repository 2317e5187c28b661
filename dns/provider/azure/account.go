package azure

import (
	"context"
	"fmt"
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

// tryTimeout limits one try of a request, with the pauses of rateLimit.
const tryTimeout = 2 * time.Minute

// account sends the requests of one provider.
type account struct {
	kind                kind
	client              *arm.Client
	subscription, group string
	credential          azcore.TokenCredential
	scope               string
	writing             policy.RetryOptions
	budget              *listlimit.Budget
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
	a := &account{
		kind: publicZones, subscription: s.Subscription, group: s.Group,
		credential: credential, scope: e.scope(), writing: c.retries(true), budget: in.Budget,
	}
	if c.private {
		a.kind = privateZones
	}
	a.client, err = arm.NewClient("signpost", "", credential, full)
	return a, err
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

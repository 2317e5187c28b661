package google

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	dnsapi "google.golang.org/api/dns/v1"
	"google.golang.org/api/option"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/listlimit"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/httpapi"
)

const (
	// pageSize is the size of pages. Without it, Cloud DNS returns smaller ones.
	pageSize = 1000
	// timeout limits one try of a request.
	timeout = time.Minute
	// maxWait limits the wait for a pause to end.
	maxWait = 15 * time.Second
)

// readRetry is the retry policy of requests that change nothing. writeRetry is that of the others: they are
// only retried if the response says that nothing was changed.
var (
	readRetry  = httpapi.Retry{Tries: 3, FirstPause: 250 * time.Millisecond, Again: func(err error) bool { return mayRetry(err) || isTransient(err) }}
	writeRetry = httpapi.Retry{Tries: 3, FirstPause: 250 * time.Millisecond, Again: mayRetry}
)

// client sends requests.
type client struct {
	service  *dnsapi.Service
	project  *project
	throttle *provider.Shared[*httpapi.Throttle]
	budget   *listlimit.Budget
}

// openClient returns a client. It doesn't contact Google.
func openClient(ctx context.Context, in provider.Input, projectID string) (*client, error) {
	sender, err := httpapi.NewClient(ctx, in, httpapi.Options{})
	if err != nil {
		return nil, err
	}
	access, err := openAccess(ctx, in)
	if err != nil {
		return nil, err
	}
	sender.Transport = bearer{next: sender.Transport, access: access}
	service, err := dnsapi.NewService(ctx, option.WithHTTPClient(sender))
	if err != nil {
		return nil, fmt.Errorf("open the client of Cloud DNS: %w", err)
	}
	pauses := provider.NewShared(in.Accounts, "clouddns", func() *httpapi.Throttle { return &httpapi.Throttle{Service: "Cloud DNS", MaxWait: maxWait} })
	return &client{service: service, project: &project{id: projectID}, throttle: pauses, budget: in.Budget}, nil
}

// mayRetry reports whether to retry a throttled request after the pause.
func mayRetry(err error) bool {
	throttled, ok := errors.AsType[*provider.ThrottledError](err)
	return ok && throttled.After <= maxWait
}

// call makes a request that needs a permission for a zone, or for all.
func (c *client) call(ctx context.Context, retry httpapi.Retry, right, zone string, send func(ctx context.Context, project string) error) error {
	projectID, err := c.project.find(ctx)
	if err != nil {
		return err
	}
	throttle := c.throttle.Of(projectID)
	return retry.Do(ctx, func() error {
		if err := throttle.Wait(ctx); err != nil {
			return err
		}
		limited, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		err := send(limited, projectID)
		if err == nil {
			throttle.Passed()
			return nil
		}
		err = failure(err, right, scopeOf(projectID, zone))
		if throttled, ok := errors.AsType[*provider.ThrottledError](err); ok {
			throttled.After = throttle.Pause(throttled.After)
		}
		return err
	})
}

// scopeOf returns the resource of a permission.
func scopeOf(projectID, zone string) string {
	if zone == "" {
		return "the project " + projectID
	}
	return fmt.Sprintf("the zone %s or the project %s", zone, projectID)
}

// zones lists the managed zones of the project.
func (c *client) zones(ctx context.Context) ([]*dnsapi.ManagedZone, error) {
	l := c.budget.Zones("Cloud DNS")
	defer l.End(nil)
	return listlimit.Pages(l, zoneSize, func(token string) (zones []*dnsapi.ManagedZone, next string, err error) {
		err = c.call(ctx, readRetry, "dns.managedZones.list", "", func(ctx context.Context, project string) error {
			page, err := c.service.ManagedZones.List(project).MaxResults(pageSize).PageToken(token).Context(ctx).Do()
			switch {
			case err != nil:
				return err
			case page.ManagedZones == nil && page.Kind == "":
				return incomplete("list of zones")
			}
			zones, next = withoutNil(page.ManagedZones), page.NextPageToken
			return nil
		})
		return zones, next, err
	})
}

func withoutNil[T any](list []*T) []*T {
	return slices.DeleteFunc(list, func(e *T) bool { return e == nil })
}

// zoneSize returns the memory of a zone in bytes.
func zoneSize(z *dnsapi.ManagedZone) int {
	return 2*listlimit.ZoneSize + len(z.Name) + len(z.DnsName) + len(z.Description)
}

func (c *client) sets(ctx context.Context, zone dns.Zone) (sets []*dnsapi.ResourceRecordSet, err error) {
	counted := c.budget.Zone(zone)
	defer func() { counted.End(err) }()
	return c.listSets(ctx, zone.ID, counted, func(l *dnsapi.ResourceRecordSetsListCall) { l.MaxResults(pageSize) })
}

func (c *client) getRecordSet(ctx context.Context, zone string, key dns.Key) (*dnsapi.ResourceRecordSet, error) {
	counted := c.budget.Part("a part of zone " + zone)
	defer counted.End(nil)
	sets, err := c.listSets(ctx, zone, counted, func(l *dnsapi.ResourceRecordSetsListCall) { l.Name(wireName(key.Name)).Type(key.Type) })
	if err != nil {
		return nil, err
	}
	for _, raw := range sets {
		if keyOf(raw) == key {
			return raw, nil
		}
	}
	return nil, nil
}

func (c *client) listSets(ctx context.Context, zone string, counted *listlimit.Listing, choose func(*dnsapi.ResourceRecordSetsListCall)) ([]*dnsapi.ResourceRecordSet, error) {
	return listlimit.Pages(counted, sizeOf, func(token string) (sets []*dnsapi.ResourceRecordSet, next string, err error) {
		err = c.call(ctx, readRetry, "dns.resourceRecordSets.list", zone, func(ctx context.Context, project string) error {
			call := c.service.ResourceRecordSets.List(project, zone).PageToken(token).Context(ctx)
			choose(call)
			page, err := call.Do()
			switch {
			case err != nil:
				return err
			case page.Rrsets == nil && page.Kind == "":
				return incomplete("list of record sets")
			}
			sets, next = withoutNil(page.Rrsets), page.NextPageToken
			return nil
		})
		return sets, next, err
	})
}

// sizeOf returns the memory of a record set in bytes, with its listed form.
func sizeOf(raw *dnsapi.ResourceRecordSet) int {
	const own, each = 256, 16
	n := own + listlimit.EmptySetSize(raw.Name)
	for _, v := range raw.Rrdatas {
		n += each + listlimit.TargetSize(v)
	}
	return n + policySize(raw.RoutingPolicy)
}

// policySize returns the memory of a routing policy in bytes. Its values are nested, and few record sets have
// one, so the JSON is measured.
func policySize(p *dnsapi.RRSetRoutingPolicy) int {
	if p == nil {
		return 0
	}
	text, err := p.MarshalJSON()
	if err != nil {
		// The policy was just decoded, so encoding can't fail.
		return 0
	}
	return int(httpapi.DecodedSize(text))
}

// change makes a change in a zone, all or nothing.
func (c *client) change(ctx context.Context, zone string, change *dnsapi.Change) error {
	return c.call(ctx, writeRetry, "dns.changes.create", zone, func(ctx context.Context, project string) error {
		made, err := c.service.Changes.Create(project, zone, change).Context(ctx).Do()
		if err == nil && made.Id == "" {
			return incomplete("ID of the change")
		}
		return err
	})
}

// incomplete returns the error for a successful response that lacks a required part.
func incomplete(part string) error { return httpapi.Incomplete("the response", part, "Cloud DNS") }

// bearer is a transport that adds the access token.
type bearer struct {
	next   http.RoundTripper
	access *access
}

// RoundTrip implements [http.RoundTripper].
func (b bearer) RoundTrip(req *http.Request) (*http.Response, error) {
	token, quota, err := b.access.token(req.Context())
	if err != nil {
		return nil, httpapi.Unsent(req, err)
	}
	// A transport must not modify the request.
	changed := req.Clone(req.Context())
	changed.Header.Set("Authorization", "Bearer "+token)
	if quota != "" {
		changed.Header.Set("X-Goog-User-Project", quota)
	}
	return b.next.RoundTrip(changed)
}

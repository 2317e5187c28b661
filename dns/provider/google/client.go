package google

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	dnsapi "google.golang.org/api/dns/v1"
	"google.golang.org/api/option"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/httpapi"
)

const (
	// pageSize is how many items a page is to have. Cloud DNS takes fewer if it is not asked.
	pageSize = 1000
	// maxPages, maxItems and maxText end a listing without an end: pages, items, and bytes in
	// names and values. A zone has 10,000 record sets, unless Google allows more.
	maxPages = 5_000
	maxItems = 1_000_000
	maxText  = 128 << 20
	// timeout ends a request that isn't answered.
	timeout = time.Minute
)

// rereads says how often a request is sent that changes nothing, and resends how often one that
// does: again only after an answer that nothing was changed.
var (
	rereads = httpapi.Retry{Tries: 3, FirstPause: 250 * time.Millisecond, Again: func(err error) bool { return soon(err) || passing(err) }}
	resends = httpapi.Retry{Tries: 3, FirstPause: 250 * time.Millisecond, Again: soon}
)

// client sends requests.
type client struct {
	service *dnsapi.Service
	project *project
	hold    hold
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
	return &client{service: service, project: &project{id: projectID}}, nil
}

// call makes a request that needs a right, about a zone or all of them.
func (c *client) call(ctx context.Context, retry httpapi.Retry, right, zone string, send func(ctx context.Context, project string) error) error {
	projectID, err := c.project.find(ctx)
	if err != nil {
		return err
	}
	return retry.Do(ctx, func() error {
		if err := c.hold.wait(ctx); err != nil {
			return err
		}
		limited, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		err := send(limited, projectID)
		if err == nil {
			c.hold.answered()
			return nil
		}
		err = failure(err, right, where(projectID, zone))
		if throttled, ok := errors.AsType[*provider.ThrottledError](err); ok {
			throttled.After = c.hold.throttled(throttled.After)
		}
		return err
	})
}

// where says what a right is needed for.
func where(projectID, zone string) string {
	if zone == "" {
		return "the project " + projectID
	}
	return fmt.Sprintf("the zone %s or the project %s", zone, projectID)
}

// pages asks for one page after the other. Ask returns how many items the page has, how many bytes
// are in their texts, and the token of the next page.
func pages(what string, ask func(token string) (n, text int, next string, err error)) error {
	token, items, texts := "", 0, 0
	for range maxPages {
		n, text, next, err := ask(token)
		if err != nil {
			return err
		}
		items, texts = items+n, texts+text
		switch {
		case texts > maxText:
			return fmt.Errorf("the %s have more than %d bytes", what, maxText)
		case next == "":
			return nil
		case next == token:
			return fmt.Errorf("the same page of %s comes again and again", what)
		case items > maxItems:
			return fmt.Errorf("there are more than %d %s", maxItems, what)
		}
		token = next
	}
	return fmt.Errorf("there are more than %d pages of %s", maxPages, what)
}

// zones lists the managed zones of the project.
func (c *client) zones(ctx context.Context) ([]*dnsapi.ManagedZone, error) {
	var zones []*dnsapi.ManagedZone
	err := pages("zones", func(token string) (n, text int, next string, err error) {
		var page *dnsapi.ManagedZonesListResponse
		err = c.call(ctx, rereads, "dns.managedZones.list", "", func(ctx context.Context, project string) (err error) {
			page, err = c.service.ManagedZones.List(project).MaxResults(pageSize).PageToken(token).Context(ctx).Do()
			return err
		})
		if err != nil {
			return 0, 0, "", err
		}
		for _, z := range page.ManagedZones {
			if z != nil {
				zones = append(zones, z)
				text += len(z.Name) + len(z.DnsName) + len(z.Description)
			}
		}
		return len(page.ManagedZones), text, page.NextPageToken, nil
	})
	return zones, err
}

// sets lists the record sets of a zone.
func (c *client) sets(ctx context.Context, zone string) ([]*dnsapi.ResourceRecordSet, error) {
	return c.listSets(ctx, zone, func(l *dnsapi.ResourceRecordSetsListCall) { l.MaxResults(pageSize) })
}

// one returns the record set with a key, or nil.
func (c *client) one(ctx context.Context, zone string, key dns.Key) (*dnsapi.ResourceRecordSet, error) {
	sets, err := c.listSets(ctx, zone, func(l *dnsapi.ResourceRecordSetsListCall) { l.Name(wireName(key.Name)).Type(key.Type) })
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

func (c *client) listSets(ctx context.Context, zone string, choose func(*dnsapi.ResourceRecordSetsListCall)) ([]*dnsapi.ResourceRecordSet, error) {
	var sets []*dnsapi.ResourceRecordSet
	err := pages("record sets", func(token string) (n, text int, next string, err error) {
		var page *dnsapi.ResourceRecordSetsListResponse
		err = c.call(ctx, rereads, "dns.resourceRecordSets.list", zone, func(ctx context.Context, project string) (err error) {
			call := c.service.ResourceRecordSets.List(project, zone).PageToken(token).Context(ctx)
			choose(call)
			page, err = call.Do()
			return err
		})
		if err != nil {
			return 0, 0, "", err
		}
		for _, raw := range page.Rrsets {
			if raw != nil {
				sets = append(sets, raw)
				text += textOf(raw)
			}
		}
		return len(page.Rrsets), text, page.NextPageToken, nil
	})
	return sets, err
}

// textOf returns how many bytes are in the texts of a record set.
func textOf(raw *dnsapi.ResourceRecordSet) int {
	n := len(raw.Name)
	for _, v := range raw.Rrdatas {
		n += len(v)
	}
	return n
}

// change makes a change of a zone, all of it or nothing.
func (c *client) change(ctx context.Context, zone string, change *dnsapi.Change) error {
	return c.call(ctx, resends, "dns.changes.create", zone, func(ctx context.Context, project string) error {
		_, err := c.service.Changes.Create(project, zone, change).Context(ctx).Do()
		return err
	})
}

// bearer is a transport that adds the access token.
type bearer struct {
	next   http.RoundTripper
	access *access
}

// RoundTrip implements [http.RoundTripper].
func (b bearer) RoundTrip(req *http.Request) (*http.Response, error) {
	token, quota, err := b.access.token(req.Context())
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, err
	}
	// A transport must not change the request.
	changed := req.Clone(req.Context())
	changed.Header.Set("Authorization", "Bearer "+token)
	if quota != "" {
		changed.Header.Set("X-Goog-User-Project", quota)
	}
	return b.next.RoundTrip(changed)
}

package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/listlimit"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/httpapi"
	"github.com/signpostd/signpost/dns/provider/properties"
	"github.com/signpostd/signpost/internal/sanitize"
)

// The paths below the base URL.
const (
	recordsPath = "records"
	adjustPath  = "adjustendpoints"
)

var (
	_ provider.Provider       = (*remote)(nil)
	_ provider.Adjuster       = (*remote)(nil)
	_ provider.DomainFilterer = (*remote)(nil)
)

type remote struct {
	base        *url.URL
	client      *http.Client
	timeout     time.Duration
	metrics     *metrics
	negotiation *negotiation
	log         *slog.Logger
	budget      *listlimit.Budget

	mu sync.Mutex
	// warned has the unusable record sets that were logged.
	warned map[string]bool
}

// Capabilities implements provider.Provider. Those of the program are unknown.
func (p *remote) Capabilities() provider.Capabilities {
	// The program behind the webhook may send a request for each target.
	return provider.Capabilities{SetIdentifiers: true, ByTarget: true, Properties: []string{properties.Webhook().Prefix}}
}

// Zones implements provider.Provider. The protocol has no zones.
func (p *remote) Zones(ctx context.Context) ([]dns.Zone, error) {
	p.negotiation.expire(negotiationTime)
	if _, err := p.negotiate(ctx); err != nil {
		return nil, err
	}
	return []dns.Zone{{}}, nil
}

// DomainFilter implements provider.DomainFilterer. Before the first successful negotiation no name
// is selected; there is no listing then either.
func (p *remote) DomainFilter(ctx context.Context) dns.Filter {
	// The calls that need the result return the error.
	if filter, err := p.negotiate(ctx); err == nil {
		return filter
	}
	if filter, _ := p.negotiation.get(); filter != nil {
		return filter
	}
	return noName{}
}

// Records implements provider.Provider.
func (p *remote) Records(ctx context.Context, _ dns.Zone) ([]*dns.RecordSet, error) {
	listed, err := p.list(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the records of the webhook provider: %w", err)
	}
	return listed, nil
}

func (p *remote) list(ctx context.Context) (listed []*dns.RecordSet, err error) {
	l := p.budget.Zone(dns.Zone{})
	err = p.call(ctx, p.metrics.records, exchange{
		method: http.MethodGet, path: recordsPath, accepts: is(http.StatusOK), decode: recordSets(l, &listed),
	})
	l.End(err)
	if err != nil {
		return nil, err
	}
	return p.usable(listed), nil
}

// Apply implements provider.Provider. The protocol has neither conditions nor partial listings. So
// all records are listed right before the changes are sent, as ExternalDNS does before each of its
// runs.
func (p *remote) Apply(ctx context.Context, _ dns.Zone, changes []dns.Change) error {
	if !slices.ContainsFunc(changes, differs) {
		return nil
	}
	listed, err := p.list(ctx)
	if err != nil {
		return fmt.Errorf("list the records of the webhook provider before they are changed: %w", provider.Unread(err))
	}
	return provider.ApplyUnchanged(changes, listed, func(changes []dns.Change) error { return p.send(ctx, asListed(changes, listed)) })
}

// asListed returns changes whose Old has the TTL, targets and properties of the current listing.
// Those of the publisher may be older, and a program may look up the record to change by them.
func asListed(changes []dns.Change, listed []*dns.RecordSet) []dns.Change {
	now := make(map[dns.Key]*dns.RecordSet, len(listed))
	for _, r := range listed {
		now[r.Key()] = r
	}
	exact := slices.Clone(changes)
	for i, c := range changes {
		if c.Old == nil || now[c.Old.Key()] == nil {
			continue
		}
		old := now[c.Old.Key()].Clone()
		if old.Labels == nil {
			old.Labels = map[string]string{}
		}
		maps.Copy(old.Labels, c.Old.Labels)
		exact[i].Old = old
	}
	return exact
}

// differs reports whether a change has an effect.
func differs(c dns.Change) bool { return c.Old == nil || c.New == nil || !sameSet(c.Old, c.New) }

func (p *remote) send(ctx context.Context, changes []dns.Change) error {
	real := slices.DeleteFunc(slices.Clone(changes), func(c dns.Change) bool { return !differs(c) })
	if len(real) == 0 {
		return nil
	}
	err := p.call(ctx, p.metrics.apply, exchange{
		method: http.MethodPost, path: recordsPath, message: dns.Lists(real), accepts: is(http.StatusNoContent),
	})
	if err != nil {
		return fmt.Errorf("send %d changes to the webhook provider: %w", len(real), err)
	}
	return nil
}

// call negotiates if necessary, sends a request, and counts it.
func (p *remote) call(ctx context.Context, m counters, e exchange) error {
	if _, err := p.negotiate(ctx); err != nil {
		return err
	}
	m.requests.Inc()
	err := p.do(ctx, e)
	if err == nil {
		return nil
	}
	m.errors.Inc()
	if httpapi.Unreachable(err) {
		p.negotiation.expire(0)
	}
	return err
}

// isAdjust reports whether a URL is that of adjustments.
func isAdjust(u *url.URL) bool { return strings.HasSuffix(u.Path, "/"+adjustPath) }

// errNamed is the error for a record set without a name or type.
var errNamed = errors.New("it has no name or no type")

// normalize normalises a record set from a provider.
func normalize(r *dns.RecordSet) error {
	if r == nil || r.Name == "" || r.Type == "" {
		return errNamed
	}
	r.Name = strings.TrimSuffix(r.Name, ".")
	return nil
}

// usable returns the usable record sets, and logs the others.
func (p *remote) usable(listed []*dns.RecordSet) []*dns.RecordSet {
	return slices.DeleteFunc(listed, func(r *dns.RecordSet) bool {
		err := normalize(r)
		if err != nil {
			p.warn(r, err)
		}
		return err != nil
	})
}

// warnings limits the unusable record sets in the log.
const warnings = 100

// warn logs an unusable record set, once.
func (p *remote) warn(r *dns.RecordSet, err error) {
	text := "null"
	if r != nil {
		text = sanitize.Name(r.Name) + " " + sanitize.Name(r.Type)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.warned[text] || len(p.warned) >= warnings {
		return
	}
	p.warned[text] = true
	p.log.Warn("Ignored an unusable record of the webhook provider", "record", text, "err", err)
}

// sameSet reports whether two record sets are equal, regardless of their objects.
func sameSet(a, b *dns.RecordSet) bool {
	return a.Name == b.Name && a.Type == b.Type && a.SetIdentifier == b.SetIdentifier && a.TTL == b.TTL &&
		slices.Equal(a.Targets, b.Targets) && slices.Equal(a.Properties, b.Properties) && maps.Equal(a.Labels, b.Labels)
}

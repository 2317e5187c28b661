package webhook

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/httpapi"
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

// remote implements provider.Provider, provider.Adjuster and provider.DomainFilterer.
type remote struct {
	base        *url.URL
	client      *http.Client
	timeout     time.Duration
	maxBody     int64
	metrics     *metrics
	negotiation *negotiation
}

// Zones implements provider.Provider. The protocol has no zones.
func (p *remote) Zones(ctx context.Context) ([]dns.Zone, error) {
	if _, err := p.negotiate(ctx); err != nil {
		return nil, err
	}
	return []dns.Zone{{}}, nil
}

// DomainFilter implements provider.DomainFilterer. Before the first successful negotiation no
// name passes; there is no listing then either.
func (p *remote) DomainFilter(ctx context.Context) dns.Filter {
	// The calls that need an answer return the error.
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
	err = p.call(ctx, p.metrics.records, exchange{
		method: http.MethodGet, path: recordsPath, accepts: is(http.StatusOK), answer: &listed,
	})
	if err == nil {
		err = tidy(listed)
	}
	return listed, err
}

// Adjust implements provider.Adjuster.
func (p *remote) Adjust(ctx context.Context, wanted []*dns.RecordSet) ([]*dns.RecordSet, error) {
	if len(wanted) == 0 {
		return nil, nil
	}
	var adjusted []*dns.RecordSet
	err := p.call(ctx, p.metrics.adjust, exchange{
		method: http.MethodPost, path: adjustPath, message: wanted, accepts: is(http.StatusOK), answer: &adjusted,
	})
	if err == nil {
		err = tidy(adjusted)
	}
	if err != nil {
		return nil, fmt.Errorf("have the webhook provider adjust %d record sets: %w", len(wanted), err)
	}
	restore(adjusted, wanted)
	return adjusted, nil
}

// Apply implements provider.Provider. The protocol has no conditions, and no way to ask for a
// part of the records. So all are listed right before the changes are sent, as ExternalDNS does
// before each of its runs.
func (p *remote) Apply(ctx context.Context, _ dns.Zone, changes []dns.Change) error {
	if !slices.ContainsFunc(changes, differs) {
		return nil
	}
	listed, err := p.list(ctx)
	if err != nil {
		return fmt.Errorf("list the records of the webhook provider before they are changed: %w", err)
	}
	return provider.ApplyUnchanged(changes, listed, func(changes []dns.Change) error { return p.send(ctx, changes) })
}

// differs reports whether a change changes something.
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

// call sends a request after negotiating, and counts it.
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
		p.negotiation.expire()
	}
	return err
}

// isAdjust reports whether a URL is that of adjustments.
func isAdjust(u *url.URL) bool { return strings.HasSuffix(u.Path, "/"+adjustPath) }

// tidy brings what a provider sent into the form of a RecordSet.
func tidy(sets []*dns.RecordSet) error {
	for i, r := range sets {
		if r == nil {
			return fmt.Errorf("decode the answer: record set number %d is null", i+1)
		}
		if r.Name == "" || r.Type == "" {
			return fmt.Errorf("decode the answer: record set number %d (%q, %q) lacks a name or a type", i+1, r.Name, r.Type)
		}
		r.Name = strings.TrimSuffix(r.Name, ".")
	}
	return nil
}

// restore adds to adjusted record sets what the protocol loses: the objects, which are not
// sent, and the labels if the provider doesn't return them.
func restore(adjusted, wanted []*dns.RecordSet) {
	byKey := make(map[dns.Key]*dns.RecordSet, len(wanted))
	for _, r := range wanted {
		byKey[r.Key()] = r
	}
	for _, r := range adjusted {
		from := byKey[r.Key()]
		if from == nil {
			continue
		}
		r.Objects = slices.Clone(from.Objects)
		if r.Labels == nil {
			r.Labels = maps.Clone(from.Labels)
		}
	}
}

// sameSet reports whether two record sets are equal, whatever objects they come from.
func sameSet(a, b *dns.RecordSet) bool {
	return a.Name == b.Name && a.Type == b.Type && a.SetIdentifier == b.SetIdentifier && a.TTL == b.TTL &&
		slices.Equal(a.Targets, b.Targets) && slices.Equal(a.Properties, b.Properties) && maps.Equal(a.Labels, b.Labels)
}

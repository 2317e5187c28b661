package aws

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/batch"
)

// hostedZone is a managed zone. Its value stays the same as long as Route 53 lists it.
type hostedZone struct {
	mapping
	account *account

	batch.ZoneCache[rawSet]

	mu sync.Mutex
	// pending are the requests that some name servers may lack, the oldest first.
	pending []string
}

func sameZone(a, b *hostedZone) bool { return a.Zone == b.Zone && a.account == b.account }

// filter selects the managed zones.
type filter struct {
	provider.ZoneFilter
	matchParent bool
	tags        []string
}

// admits reports whether a zone passes the filters other than that for tags.
func (f filter) admits(z dns.Zone) bool {
	if parents, ok := f.Domains.(interface{ MatchParent(zone string) bool }); ok && f.matchParent && parents.MatchParent(z.Name) {
		f.Domains = dns.MatchAll()
	}
	return f.Admits(z)
}

// hasTags reports whether tags have all entries of the filter: a key, or a key and a value.
func (f filter) hasTags(tags map[string]string) bool {
	for _, entry := range f.tags {
		key, want, both := strings.Cut(entry, "=")
		key, want = strings.TrimSpace(key), strings.TrimSpace(want)
		if value, has := tags[key]; key != "" && (!has || both && value != want) {
			return false
		}
	}
	return true
}

// list lists the zones of all accounts. If an account can't be listed, its zones of the last list stay.
func (p *route53Provider) list(ctx context.Context) (all []batch.Found[hostedZone], unlisted, err error) {
	before := p.Last()
	var errs []error
	for _, a := range p.accounts {
		found, err := p.listAccount(ctx, a)
		if err != nil {
			err = fmt.Errorf("list the zones of Route 53 with %s: %w", a.Label, err)
			if ctx.Err() != nil || len(p.accounts) == 1 {
				return nil, nil, err
			}
			errs = append(errs, err)
			found = zonesOf(before, a)
		}
		all = append(all, found...)
	}
	if len(errs) == len(p.accounts) {
		return nil, nil, errors.Join(errs...)
	}
	unlisted = errors.Join(errs...)
	if unlisted != nil && (before == nil || before.Unlisted == nil) {
		p.log.Error("Couldn't list the zones of an account; those that are known stay", "err", unlisted)
	}
	return all, unlisted, nil
}

func zonesOf(l *batch.List[hostedZone], a *account) []batch.Found[hostedZone] {
	if l == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(l.All), func(f batch.Found[hostedZone]) bool { return f.Of.account != a })
}

func (p *route53Provider) listAccount(ctx context.Context, a *account) ([]batch.Found[hostedZone], error) {
	raw, err := a.zones(ctx)
	if err != nil {
		return nil, err
	}
	found := make([]batch.Found[hostedZone], len(raw))
	for i, z := range raw {
		zone := dns.Zone{ID: aws.ToString(z.Id), Name: dns.Canonical(plainName(aws.ToString(z.Name))), Private: z.Config != nil && z.Config.PrivateZone}
		found[i] = batch.Found[hostedZone]{
			Zone: zone, Managed: p.filter.admits(zone), Of: &hostedZone{mapping: mapping{Zone: zone, preferCNAME: p.preferCNAME, evaluate: p.evaluate}, account: a},
		}
		found[i].Version = strconv.FormatInt(aws.ToInt64(z.ResourceRecordSetCount), 10)
	}
	found = provider.Usable(&p.names, p.log, found, func(f batch.Found[hostedZone]) dns.Zone { return f.Zone })
	var asked []string
	for _, z := range found {
		if z.Managed {
			asked = append(asked, bareID(z.ID))
		}
	}
	if len(p.filter.tags) == 0 {
		return found, nil
	}
	tags, err := a.tags(ctx, asked)
	if err != nil {
		return nil, err
	}
	for i := range found {
		found[i].Managed = found[i].Managed && p.filter.hasTags(tags[bareID(found[i].ID)])
	}
	return found, nil
}

// wantsOtherZone reports whether a record set is meant for another zone of its name, by ID. The list
// may be nil.
func wantsOtherZone(l *batch.List[hostedZone], zone dns.Zone, r *dns.RecordSet) bool {
	id, asked := r.Property(propertyZone)
	if l == nil || !asked || bareID(id) == bareID(zone.ID) {
		return false
	}
	return slices.ContainsFunc(l.Managed, func(z dns.Zone) bool {
		_, holds := dns.NewZoneFinder([]dns.Zone{z}).Find(r.Name)
		return holds && bareID(z.ID) == bareID(id)
	})
}

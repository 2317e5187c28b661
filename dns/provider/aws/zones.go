package aws

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/awsaccess"
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

// zoneList is the result of one listing of zones. It never changes.
type zoneList struct {
	// all are the listed zones, managed and unmanaged.
	all []foundZone
	// managed are the zones to publish to, and byID the same by ID.
	managed []*hostedZone
	byID    map[string]*hostedZone
	// versions has the number of records by zone ID.
	versions map[string]string
	// public and private find the zone of a name among all.
	public, private *dns.ZoneFinder
	// unlisted has the errors of accounts that couldn't be listed, or is nil.
	unlisted error
}

// filter selects the managed zones.
type filter struct {
	domains     dns.Filter
	matchParent bool
	ids         dns.ZoneIDFilter
	names       *dns.DomainFilter
	// kind is public, private, or "" for both.
	kind string
	tags []string
}

// admits reports whether a zone passes the filters other than that for tags.
func (f filter) admits(z dns.Zone) bool {
	if !f.ids.Match(z.ID) || !f.names.Match(z.Name) {
		return false
	}
	if f.kind != "" && (f.kind == awsaccess.Private) != z.Private {
		return false
	}
	if f.domains.Match(z.Name) {
		return true
	}
	parents, ok := f.domains.(interface{ MatchParent(zone string) bool })
	return f.matchParent && ok && parents.MatchParent(z.Name)
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
func (p *route53Provider) list(ctx context.Context) (*zoneList, error) {
	before := p.zones.Last()
	var all []foundZone
	var errs []error
	for _, a := range p.accounts {
		found, err := p.listAccount(ctx, a)
		if err != nil {
			err = fmt.Errorf("list the zones of Route 53 with %s: %w", a.label, err)
			if ctx.Err() != nil || len(p.accounts) == 1 {
				return nil, err
			}
			errs = append(errs, err)
			found = before.of(a)
		}
		all = append(all, found...)
	}
	if len(errs) == len(p.accounts) {
		return nil, errors.Join(errs...)
	}
	unlisted := errors.Join(errs...)
	if unlisted != nil && (before == nil || before.unlisted == nil) {
		p.log.Error("Couldn't list the zones of an account; those that are known stay", "err", unlisted)
	}
	return p.zones.Replace(func(before *zoneList) *zoneList { return p.arrange(before, all, unlisted) }), nil
}

// arrange returns the list for the zones of a listing.
func (p *route53Provider) arrange(before *zoneList, all []foundZone, unlisted error) *zoneList {
	next := &zoneList{all: all, byID: map[string]*hostedZone{}, versions: map[string]string{}, unlisted: unlisted}
	var public, private []dns.Zone
	for _, z := range all {
		if z.Private {
			private = append(private, z.Zone)
		} else {
			public = append(public, z.Zone)
		}
		if z.managed && next.byID[z.ID] == nil {
			next.byID[z.ID], next.versions[z.ID] = p.keep(before, z.Zone, z.account), z.version
		}
	}
	next.public, next.private = dns.NewZoneFinder(public), dns.NewZoneFinder(private)
	next.managed = slices.SortedFunc(maps.Values(next.byID), byName)
	return next
}

// byName sorts zones by name, public ones first.
func byName(a, b *hostedZone) int {
	visible := func(z *hostedZone) int {
		if z.Private {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(visible(a), visible(b)), cmp.Compare(a.ID, b.ID))
}

// foundZone is a zone of an account.
type foundZone struct {
	dns.Zone
	account *account
	// version is the number of records.
	version string
	managed bool
}

// of returns the zones of an account. It may be called on nil.
func (l *zoneList) of(a *account) []foundZone {
	if l == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(l.all), func(z foundZone) bool { return z.account != a })
}

// keep returns the zone of the previous list, or a new one.
func (p *route53Provider) keep(before *zoneList, zone dns.Zone, a *account) *hostedZone {
	if before != nil {
		if z := before.byID[zone.ID]; z != nil && z.Zone == zone && z.account == a {
			return z
		}
	}
	return &hostedZone{mapping: mapping{Zone: zone, preferCNAME: p.preferCNAME, evaluate: p.evaluate}, account: a}
}

func (p *route53Provider) listAccount(ctx context.Context, a *account) ([]foundZone, error) {
	raw, err := a.zones(ctx)
	if err != nil {
		return nil, err
	}
	found := make([]foundZone, len(raw))
	for i, z := range raw {
		zone := dns.Zone{ID: aws.ToString(z.Id), Name: dns.Canonical(plainName(aws.ToString(z.Name))), Private: z.Config != nil && z.Config.PrivateZone}
		found[i] = foundZone{zone, a, strconv.FormatInt(aws.ToInt64(z.ResourceRecordSetCount), 10), p.filter.admits(zone)}
	}
	found = provider.Usable(&p.names, p.log, found, func(z foundZone) dns.Zone { return z.Zone })
	var asked []string
	for _, z := range found {
		if z.managed {
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
		found[i].managed = found[i].managed && p.filter.hasTags(tags[bareID(found[i].ID)])
	}
	return found, nil
}

// wantsOtherZone reports whether a record set is meant for another zone of its name, by ID. It may be called
// on nil.
func (l *zoneList) wantsOtherZone(zone dns.Zone, r *dns.RecordSet) bool {
	id, asked := r.Property(propertyZone)
	if l == nil || !asked || bareID(id) == bareID(zone.ID) {
		return false
	}
	return slices.ContainsFunc(l.managed, func(z *hostedZone) bool {
		_, holds := dns.NewZoneFinder([]dns.Zone{z.Zone}).Find(r.Name)
		return holds && bareID(z.ID) == bareID(id)
	})
}

// Match implements [dns.Filter]: the zone of a name has to be managed. Nil selects no name.
func (l *zoneList) Match(name string) bool {
	if l == nil {
		return false
	}
	for _, finder := range []*dns.ZoneFinder{l.public, l.private} {
		for _, zone := range finder.FindAll(name) {
			if l.byID[zone.ID] != nil {
				return true
			}
		}
	}
	return false
}

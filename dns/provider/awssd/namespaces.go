package awssd

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/servicediscovery/types"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/awsaccess"
	"github.com/signpostd/signpost/dns/provider"
)

// namespace is a managed namespace. Its value stays the same as long as Cloud Map lists it.
type namespace struct {
	dns.Zone
	// httpName is its name in requests for revisions.
	httpName string
	// swaps are the refused type changes.
	swaps provider.Swaps

	mu sync.Mutex
	// known has the known services by the name of their records.
	known map[string]*knownService
	// removed has the IDs of services that this process has recently deleted.
	removed map[string]time.Time
	// listed is true after the first listing.
	listed bool
}

// knownService is a known service. The mutex of its namespace guards it.
type knownService struct {
	id string
	// instances are those of the revision, if there is one.
	instances   []instance
	revision    int64
	hasRevision bool
	// wrote is the description that this process wrote last, and changedAt the time of its last change.
	wrote     string
	changedAt time.Time
}

// namespaceList is the result of one listing of namespaces. It never changes.
type namespaceList struct {
	// managed are the namespaces to publish to, and byID the same by ID.
	managed []*namespace
	byID    map[string]*namespace
	// public finds the public namespace of a name among all listed ones. private has the names of the managed
	// private ones.
	public  *dns.ZoneFinder
	private map[string]bool
}

// filter selects the managed namespaces.
type filter struct {
	domains dns.Filter
	ids     dns.ZoneIDFilter
	names   *dns.DomainFilter
	// kind is public, private, or "" for both.
	kind string
}

// kinds are the namespace types by the value of --aws-zone-type.
var kinds = map[string]types.NamespaceType{awsaccess.Public: types.NamespaceTypeDnsPublic, awsaccess.Private: types.NamespaceTypeDnsPrivate}

func (f filter) admits(z dns.Zone) bool {
	return f.ids.Match(z.ID) && f.names.Match(z.Name) && f.domains.Match(z.Name) && (f.kind == "" || (f.kind == awsaccess.Private) == z.Private)
}

// list lists the namespaces.
func (p *cloudMap) list(ctx context.Context) (*namespaceList, error) {
	raw, err := p.account.namespaces(ctx, kinds[p.filter.kind])
	if err != nil {
		return nil, fmt.Errorf("list the namespaces of Cloud Map: %w", err)
	}
	raw = provider.Usable(&p.names, p.log, raw, func(r types.NamespaceSummary) dns.Zone {
		return dns.Zone{ID: aws.ToString(r.Id), Name: dns.Canonical(aws.ToString(r.Name))}
	})
	return p.namespaces.Replace(func(before *namespaceList) *namespaceList { return p.arrange(before, raw) }), nil
}

// arrange returns the list for the namespaces of a listing.
func (p *cloudMap) arrange(before *namespaceList, raw []types.NamespaceSummary) *namespaceList {
	next := &namespaceList{byID: map[string]*namespace{}, private: map[string]bool{}}
	var public []dns.Zone
	for _, r := range raw {
		zone := dns.Zone{ID: aws.ToString(r.Id), Name: dns.Canonical(aws.ToString(r.Name)), Private: r.Type == types.NamespaceTypeDnsPrivate}
		if !zone.Private && r.Type != types.NamespaceTypeDnsPublic {
			// Namespaces of type HTTP have no records.
			continue
		}
		if !zone.Private {
			public = append(public, zone)
		}
		if p.filter.admits(zone) {
			next.byID[zone.ID] = before.keep(zone, httpName(r))
			next.private[zone.Name] = next.private[zone.Name] || zone.Private
		}
	}
	next.public = dns.NewZoneFinder(public)
	next.managed = slices.SortedFunc(maps.Values(next.byID), func(a, b *namespace) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	return next
}

// httpName returns the name of a namespace in requests about instances.
func httpName(r types.NamespaceSummary) string {
	if r.Properties != nil && r.Properties.HttpProperties != nil {
		return cmp.Or(aws.ToString(r.Properties.HttpProperties.HttpName), aws.ToString(r.Name))
	}
	return aws.ToString(r.Name)
}

// keep returns the namespace of the previous list, or a new one. It may be called on nil.
func (l *namespaceList) keep(zone dns.Zone, httpName string) *namespace {
	if l != nil {
		if n := l.byID[zone.ID]; n != nil && n.Zone == zone && n.httpName == httpName {
			return n
		}
	}
	return &namespace{Zone: zone, httpName: httpName, known: map[string]*knownService{}, removed: map[string]time.Time{}}
}

// outside returns why a name can't be in a namespace, or nil. A name is in the longest public namespace, and
// in every private one that contains it, because each private one has separate clients.
func (l *namespaceList) outside(n *namespace, name string) error {
	closest := l.public.FindAll(name)
	if n.Private || slices.ContainsFunc(closest, func(z dns.Zone) bool { return z.ID == n.ID }) {
		return nil
	}
	return fmt.Errorf("%w: %s is not in the namespace %s, or is in one below it", provider.ErrRejected, name, n.Name)
}

// Match implements [dns.Filter]: a namespace of the name has to be managed. Nil selects no name.
func (l *namespaceList) Match(name string) bool {
	if l == nil {
		return false
	}
	for _, zone := range l.public.FindAll(name) {
		if l.byID[zone.ID] != nil {
			return true
		}
	}
	for at := dns.Canonical(name); at != ""; _, at, _ = strings.Cut(at, ".") {
		if l.private[at] {
			return true
		}
	}
	return false
}

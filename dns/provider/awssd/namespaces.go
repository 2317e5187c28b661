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

// namespace is a namespace that is managed. It stays the same value as long as Cloud Map has it.
type namespace struct {
	dns.Zone
	// httpName is its name in questions about revisions.
	httpName string
	// swaps are the type changes that were refused.
	swaps provider.Swaps

	mu sync.Mutex
	// known has what is known of services, by the names of their records.
	known map[string]*knownService
	// removed has the IDs of services that this process has deleted lately.
	removed map[string]time.Time
	// listed is true after the first listing.
	listed bool
}

// knownService is what is known of a service. It is guarded by the lock of its namespace.
type knownService struct {
	id string
	// instances are those at the revision, if there is one.
	instances   []instance
	revision    int64
	hasRevision bool
	// wrote is the description that this process has written last, and changedAt when it has
	// changed anything.
	wrote     string
	changedAt time.Time
}

// namespaceList is the result of one listing of namespaces. It is immutable.
type namespaceList struct {
	// managed are the namespaces to publish to, and byID has them by their IDs.
	managed []*namespace
	byID    map[string]*namespace
	// public finds the public namespace of a name among all that were listed, and private has the
	// names of the private ones that are managed.
	public  *dns.ZoneFinder
	private map[string]bool
}

// filter says which namespaces are managed.
type filter struct {
	domains dns.Filter
	ids     dns.ZoneIDFilter
	names   *dns.DomainFilter
	// kind is public, private, or empty for both.
	kind string
}

// kinds are the types of namespaces by the value of --aws-zone-type.
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

// arrange returns the list of namespaces that were found.
func (p *cloudMap) arrange(before *namespaceList, raw []types.NamespaceSummary) *namespaceList {
	next := &namespaceList{byID: map[string]*namespace{}, private: map[string]bool{}}
	var public []dns.Zone
	for _, r := range raw {
		zone := dns.Zone{ID: aws.ToString(r.Id), Name: dns.Canonical(aws.ToString(r.Name)), Private: r.Type == types.NamespaceTypeDnsPrivate}
		if !zone.Private && r.Type != types.NamespaceTypeDnsPublic {
			// A namespace of the type HTTP has no records.
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

// httpName returns the name of a namespace in questions about instances.
func httpName(r types.NamespaceSummary) string {
	if r.Properties != nil && r.Properties.HttpProperties != nil {
		return cmp.Or(aws.ToString(r.Properties.HttpProperties.HttpName), aws.ToString(r.Name))
	}
	return aws.ToString(r.Name)
}

// keep returns the namespace of the last listing, or a new one. It may be called on nil.
func (l *namespaceList) keep(zone dns.Zone, httpName string) *namespace {
	if l != nil {
		if n := l.byID[zone.ID]; n != nil && n.Zone == zone && n.httpName == httpName {
			return n
		}
	}
	return &namespace{Zone: zone, httpName: httpName, known: map[string]*knownService{}, removed: map[string]time.Time{}}
}

// outside returns why a name can't be in a namespace, or nil. A name is in one public namespace, the
// longest one, and in every private one that contains it: each of these has readers of its own.
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

package awssd

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/servicediscovery/types"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/batch"
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

func sameNamespace(a, b *namespace) bool { return a.Zone == b.Zone && a.httpName == b.httpName }

// kinds are the namespace types by the value of --aws-zone-type.
var kinds = map[string]types.NamespaceType{provider.Public: types.NamespaceTypeDnsPublic, provider.Private: types.NamespaceTypeDnsPrivate}

func (p *cloudMap) list(ctx context.Context) (all []batch.Found[namespace], unlisted, err error) {
	raw, err := p.account.namespaces(ctx, kinds[p.filter.Visibility])
	if err != nil {
		return nil, nil, fmt.Errorf("list the namespaces of Cloud Map: %w", err)
	}
	raw = provider.Usable(&p.names, p.log, raw, func(r types.NamespaceSummary) dns.Zone {
		return dns.Zone{ID: aws.ToString(r.Id), Name: dns.Canonical(aws.ToString(r.Name))}
	})
	for _, r := range raw {
		zone := dns.Zone{ID: aws.ToString(r.Id), Name: dns.Canonical(aws.ToString(r.Name)), Private: r.Type == types.NamespaceTypeDnsPrivate}
		if !zone.Private && r.Type != types.NamespaceTypeDnsPublic {
			// Namespaces of type HTTP have no records.
			continue
		}
		// Private namespaces have separate clients, so an unmanaged one hides no names of another.
		if managed := p.filter.Admits(zone); managed || !zone.Private {
			n := &namespace{Zone: zone, httpName: httpName(r), known: map[string]*knownService{}, removed: map[string]time.Time{}}
			all = append(all, batch.Found[namespace]{Zone: zone, Of: n, Managed: managed})
		}
	}
	return all, nil, nil
}

// httpName returns the name of a namespace in requests about instances.
func httpName(r types.NamespaceSummary) string {
	if r.Properties != nil && r.Properties.HttpProperties != nil {
		return cmp.Or(aws.ToString(r.Properties.HttpProperties.HttpName), aws.ToString(r.Name))
	}
	return aws.ToString(r.Name)
}

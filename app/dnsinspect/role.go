package dnsinspect

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/publisher"
)

// Publisher is a publisher with the name servers of its zones.
type Publisher struct {
	// Name is empty for an unnamed publisher.
	Name string
	*publisher.Publisher
	// Servers are the addresses and ports of the name servers; nil means those of the NS records.
	Servers []string
	// Kinds are the kinds of objects that its sources read, such as Service.
	Kinds []string
	// Namespaces are those whose objects its sources read; nil means all.
	Namespaces []string
}

// Role is the role dns, for package inspect. [New] creates it.
type Role struct {
	publishers []Publisher
	leadership inspect.Leadership

	mu sync.Mutex
	// counted are the cached zones with their counts.
	counted       []inspect.Zone
	countedAt     time.Time
	countDuration time.Duration
	changes       changes
}

var (
	_ inspect.RecordsOf = (*Role)(nil)
	_ inspect.ZonesOf   = (*Role)(nil)
	_ inspect.Explainer = (*Role)(nil)
)

// New returns a role. leadership says whether this process leads.
func New(publishers []Publisher, leadership inspect.Leadership) *Role {
	sorted := slices.SortedStableFunc(slices.Values(publishers), func(a, b Publisher) int { return cmp.Compare(a.Name, b.Name) })
	return &Role{publishers: sorted, leadership: leadership}
}

// mustLead returns the error of a process that doesn't lead.
func (r *Role) mustLead() error {
	if leads, leader := r.leadership(); !leads {
		return &inspect.NotLeading{Leader: leader}
	}
	return nil
}

// asError converts an error of a publisher to one of package inspect.
func (r *Role) asError(err error) error {
	if errors.Is(err, publisher.ErrNotLeading) {
		_, leader := r.leadership()
		return &inspect.NotLeading{Leader: leader}
	}
	return err
}

func objectRef(o dns.Object) inspect.ObjectRef {
	version, _ := schema.ParseGroupVersion(o.APIVersion)
	return inspect.ObjectRef{Kind: o.Kind, Group: version.Group, Namespace: o.Namespace, Name: o.Name}
}

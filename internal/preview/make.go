package preview

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"sync"

	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/configure"
	"github.com/signpostd/signpost/dns/publisher"
	"github.com/signpostd/signpost/internal/settings"
	"github.com/signpostd/signpost/kube"
)

// Inputs are files to read instead of a cluster and of a provider.
type Inputs struct {
	// Manifests are the paths of objects; - is Stdin. Without any, a cluster is read.
	Manifests []string
	Stdin     io.Reader
	// ZoneFiles are the paths of master files. Without any, the provider is asked.
	ZoneFiles []string
}

// Make finds out what `signpost dns` would change with these flags, and changes nothing. The
// flags have been settled, and the inputs checked.
func Make(ctx context.Context, c *settings.DNSFlags, inputs Inputs, log *slog.Logger) (*Plan, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	o := c.Publisher
	o.DryRun = true
	remarks := &remarks{}
	in := configure.Input{Log: log, Notify: remarks.add}
	objects, err := inputs.openObjects(c)
	if err != nil {
		return nil, err
	}
	if len(inputs.Manifests) == 0 {
		in.REST = objects
	}
	if len(inputs.ZoneFiles) > 0 {
		if in.Provider, err = inputs.openZoneFiles(ctx, o, in); err != nil {
			return nil, settings.AsUsage(err)
		}
	}
	opened, err := o.Open(ctx, in)
	if err != nil {
		return nil, settings.AsUsage(err)
	}
	zones, err := opened.Once(ctx, kube.Options{Config: objects, Namespaces: c.Config.OnlyNamespaces(), Logger: log})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return newPlan(zones, remarks.list, err), nil
}

// openObjects says where to read objects; nil if no source needs any.
func (i *Inputs) openObjects(c *settings.DNSFlags) (*rest.Config, error) {
	if len(i.Manifests) > 0 {
		return i.serveManifests(c.Publisher)
	}
	objects, err := c.Config.RESTConfig("plan")
	if err != nil && !c.Config.NeedsCluster() {
		return nil, nil
	}
	return objects, err
}

// remarks collects the notices of a publisher about records that can't be published.
type remarks struct {
	mu   sync.Mutex
	list []publisher.Notice
}

func (r *remarks) add(n publisher.Notice) {
	// The zones and the errors of the plan have the others.
	if !slices.Contains([]string{publisher.ReasonInvalid, publisher.ReasonConflict, publisher.ReasonError}, n.Reason) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, n)
}

// nameOf returns the name of the record set that a notice is about; empty if there is none.
func nameOf(n publisher.Notice) string {
	if n.Record == nil {
		return ""
	}
	return dns.Canonical(n.Record.Name)
}

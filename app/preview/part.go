package preview

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/dns/configure"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/publisher"
	"github.com/signpostd/signpost/kube"
)

// maxConcurrent is the number of publishers that are planned at the same time. Each has its own cache of
// the cluster's objects, so the number limits the memory.
const maxConcurrent = 8

// part is the plan of one publisher.
type part struct {
	// name is empty for the publisher of flags.
	name   string
	opened *configure.Opened
	// objects is the connection to the objects, nil if no source reads any. cluster is that to the
	// cluster, nil with manifests.
	objects, cluster *rest.Config
	// unread has the kinds of manifests that no source of the publisher reads.
	unread map[schema.GroupKind]Unread

	notices *notices
	// zones, explained and err are the result, which [Options.makePart] sets.
	zones     []publisher.ZonePlan
	explained publisher.Explanations
	err       error
}

// openParts opens all publishers. Manifests are read once, because standard input has them only once.
func (o Options) openParts(ctx context.Context) ([]*part, error) {
	manifests, err := o.Inputs.readManifests()
	if err != nil {
		return nil, err
	}
	accounts := &provider.Accounts{}
	parts := make([]*part, len(o.Config.DNS.Publishers))
	for i, options := range o.Config.DNS.Publishers {
		if parts[i], err = o.openPart(ctx, options, manifests, accounts); err != nil && options.Name != "" {
			err = fmt.Errorf("publisher %s: %w", options.Name, err)
		}
		if err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// openPart opens one publisher. accounts has the rate limits of all publishers.
func (o Options) openPart(ctx context.Context, options *configure.Options, manifests []*unstructured.Unstructured, accounts *provider.Accounts) (*part, error) {
	dry := *options
	dry.DryRun = true
	p := &part{name: options.Name, notices: &notices{}}
	in := configure.Input{Log: o.Log, Notify: p.notices.add, Accounts: accounts}
	var err error
	if p.objects, p.unread, err = o.openObjects(&dry, manifests); err != nil {
		return nil, err
	}
	if len(o.Inputs.Manifests) == 0 {
		p.cluster, in.REST = p.objects, p.objects
	}
	if len(o.Inputs.ZoneFiles) > 0 {
		if in.Provider, err = o.Inputs.openZoneFiles(ctx, &dry, in); err != nil {
			return nil, settings.AsUsage(err)
		}
	}
	if p.opened, err = dry.Open(ctx, in); err != nil {
		return nil, settings.AsUsage(err)
	}
	return p, nil
}

// openObjects returns the connection to the objects, nil if no source reads any, and the kinds of
// manifests that no source reads.
func (o Options) openObjects(publisher *configure.Options, manifests []*unstructured.Unstructured) (*rest.Config, map[schema.GroupKind]Unread, error) {
	if len(o.Inputs.Manifests) > 0 {
		return serveManifests(publisher, manifests)
	}
	objects, err := o.Config.RESTConfig("plan")
	if err != nil && !o.Config.NeedsCluster() {
		return nil, nil, nil
	}
	return objects, nil, err
}

// makeParts plans all publishers, several at the same time: an unresponsive provider must not use up
// the time of the other publishers.
func (o Options) makeParts(ctx context.Context, parts []*part, limit publisher.TimeLimit) error {
	var making errgroup.Group
	making.SetLimit(maxConcurrent)
	for _, p := range parts {
		making.Go(func() error { return o.makePart(ctx, p, limit) })
	}
	return making.Wait()
}

// makePart plans one publisher. The error is that of an interruption; others are errors of the plan.
func (o Options) makePart(ctx context.Context, p *part, limit publisher.TimeLimit) error {
	if err := identify(ctx, p.opened, p.cluster, limit); err != nil {
		o.Log.Info("Records of other processes with the same owner ID count as ours in this plan", "err", err)
	}
	p.zones, p.err = p.opened.Once(ctx, kube.Options{Config: p.objects, NamespacesOf: o.Config.NamespacesOf(), Logger: o.Log}, limit)
	if ctx.Err() != nil {
		return errInterrupted
	}
	if !o.Verbose && len(o.Inputs.Manifests) == 0 {
		return nil
	}
	var err error
	p.explained, err = p.opened.Publisher.Explain(ctx, publisher.ExplainQuery{OnlyIncomplete: true, Limit: explainLimit})
	if err != nil {
		return errInterrupted
	}
	return nil
}

// merge returns the plan of all publishers, in their order.
func (o Options) merge(parts []*part) *Plan {
	plan := &Plan{Zones: []Zone{}, Problems: []Problem{}, Errors: []string{}}
	var unread map[schema.GroupKind]Unread
	for i, p := range parts {
		o.add(plan, p)
		if i == 0 {
			unread = p.unread
		}
		maps.DeleteFunc(unread, func(kind schema.GroupKind, _ Unread) bool { _, same := p.unread[kind]; return !same })
	}
	plan.Unread = slices.SortedFunc(maps.Values(unread), func(a, b Unread) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Group, b.Group))
	})
	plan.Complete = len(plan.Errors) == 0
	return plan
}

func (o Options) add(plan *Plan, p *part) {
	plan.add(p.name, p.zones, p.notices.list, p.err)
	if o.Verbose {
		plan.explain(p.name, p.explained)
	}
	if len(o.Inputs.Manifests) > 0 {
		plan.warn(p.name, p.explained)
	}
}

package preview

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/configure"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/publisher"
	"github.com/signpostd/signpost/kube"
)

// Inputs are files to read instead of a cluster and of a provider.
type Inputs struct {
	// Manifests are the paths of manifests; - is Stdin. If there are none, objects come from the
	// cluster.
	Manifests []string
	Stdin     io.Reader
	// ZoneFiles are the paths of master files. If there are none, records come from the provider.
	ZoneFiles []string
}

// Options are the options of a plan.
type Options struct {
	// Config has the publishers and the address of the cluster.
	Config settings.Config
	Inputs Inputs
	// Verbose adds the reasons why objects give no record, or not all.
	Verbose bool
	// Limit is the time limit of each publisher.
	Limit time.Duration
	Log   *slog.Logger
}

// Make returns the changes that the publishers of a config would make, and makes none. The config
// and the inputs must be valid.
func Make(ctx context.Context, o Options) (*Plan, error) {
	if err := o.reach(ctx); err != nil {
		return nil, err
	}
	plan := &Plan{Zones: []Zone{}, Problems: []Problem{}, Errors: []string{}}
	var unread map[schema.GroupKind]Unread
	accounts := &provider.Accounts{}
	for i, publisher := range o.Config.DNS.Publishers {
		others, err := o.addTo(ctx, plan, publisher, accounts)
		if err != nil && publisher.Name != "" {
			err = fmt.Errorf("publisher %s: %w", publisher.Name, err)
		}
		if err != nil {
			return nil, err
		}
		if i == 0 {
			unread = others
		}
		maps.DeleteFunc(unread, func(kind schema.GroupKind, _ Unread) bool { _, same := others[kind]; return !same })
	}
	plan.Unread = slices.SortedFunc(maps.Values(unread), func(a, b Unread) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Group, b.Group))
	})
	plan.Complete = len(plan.Errors) == 0
	return plan, nil
}

// reach returns an error if the cluster is needed and unreachable.
func (o Options) reach(ctx context.Context) error {
	if len(o.Inputs.Manifests) > 0 || !o.Config.NeedsCluster() {
		return nil
	}
	config, err := o.Config.RESTConfig("plan")
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, o.Limit)
	defer cancel()
	_, err = kube.Reach(limited, config)
	if ctx.Err() != nil {
		return errInterrupted
	}
	if err != nil {
		return fmt.Errorf("read the objects of the cluster: %w: check the kubeconfig, or name manifests with -f", err)
	}
	return nil
}

// addTo adds what one publisher would change to a plan. It returns the kinds of manifests that no
// source of the publisher reads. accounts has the rate limits of all publishers.
func (o Options) addTo(ctx context.Context, plan *Plan, options *configure.Options, accounts *provider.Accounts) (map[schema.GroupKind]Unread, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	dry := *options
	dry.DryRun = true
	notices := &notices{}
	in := configure.Input{Log: o.Log, Notify: notices.add, Accounts: accounts}
	objects, unread, err := o.openObjects(&dry)
	if err != nil {
		return nil, err
	}
	if len(o.Inputs.Manifests) == 0 {
		in.REST = objects
	}
	if len(o.Inputs.ZoneFiles) > 0 {
		if in.Provider, err = o.Inputs.openZoneFiles(ctx, &dry, in); err != nil {
			return nil, settings.AsUsage(err)
		}
	}
	opened, err := dry.Open(ctx, in)
	if err != nil {
		return nil, settings.AsUsage(err)
	}
	if err := identify(ctx, opened, in.REST); err != nil {
		o.Log.Info("Records of other processes with the same owner ID count as ours in this plan", "err", err)
	}
	zones, err := opened.Once(ctx, kube.Options{Config: objects, NamespacesOf: o.Config.NamespacesOf(), Logger: o.Log}, o.Limit)
	if ctx.Err() != nil {
		return nil, errInterrupted
	}
	plan.add(options.Name, zones, notices.list, err)
	if o.Verbose || len(o.Inputs.Manifests) > 0 {
		explained, err := opened.Publisher.Explain(ctx, publisher.ExplainQuery{OnlyIncomplete: true, Limit: explainLimit})
		if err != nil {
			return nil, errInterrupted
		}
		if o.Verbose {
			plan.explain(options.Name, explained)
		}
		if len(o.Inputs.Manifests) > 0 {
			plan.warn(options.Name, explained)
		}
	}
	return unread, nil
}

// identify sets the instance of a publisher by the cluster; config is nil without one.
func identify(ctx context.Context, opened *configure.Opened, config *rest.Config) error {
	if config == nil {
		return opened.Identify(ctx, nil, configure.RefusalsCount)
	}
	config = rest.CopyConfig(config)
	config.Timeout = instanceTimeout
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	defer httpClient.CloseIdleConnections()
	client, err := corev1client.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return err
	}
	return opened.Identify(ctx, client, configure.RefusalsCount)
}

// instanceTimeout limits the request for the instance.
const instanceTimeout = 10 * time.Second

// errInterrupted is the error of a plan that was ended by a signal.
var errInterrupted = errors.New("interrupted before the plan was complete")

// openObjects returns the connection to the objects, nil if no source reads any, and the kinds of
// manifests that no source reads.
func (o Options) openObjects(publisher *configure.Options) (*rest.Config, map[schema.GroupKind]Unread, error) {
	if len(o.Inputs.Manifests) > 0 {
		return o.Inputs.serveManifests(publisher)
	}
	objects, err := o.Config.RESTConfig("plan")
	if err != nil && !o.Config.NeedsCluster() {
		return nil, nil, nil
	}
	return objects, nil, err
}

// notices collects the notices of a publisher about records that can't be published.
type notices struct {
	mu   sync.Mutex
	list []publisher.Notice
}

func (r *notices) add(n publisher.Notice) {
	// Other notices are among the zones and errors of the plan.
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

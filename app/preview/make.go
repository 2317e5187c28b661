package preview

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/configure"
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
	// Limit is the time limit of the whole plan.
	Limit time.Duration
	Log   *slog.Logger
}

// Make returns the changes that the publishers of a config would make, and makes none. The config
// and the inputs must be valid.
func Make(ctx context.Context, o Options) (*Plan, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	limit := publisher.Within(o.Limit)
	if err := o.reach(ctx, limit); err != nil {
		return nil, err
	}
	parts, err := o.openParts(ctx)
	if err != nil {
		return nil, err
	}
	if err := o.makeParts(ctx, parts, limit); err != nil {
		return nil, err
	}
	return o.merge(parts), nil
}

// reach returns an error if the cluster is needed and unreachable.
func (o Options) reach(ctx context.Context, limit publisher.TimeLimit) error {
	if len(o.Inputs.Manifests) > 0 || !o.Config.NeedsCluster() {
		return nil
	}
	config, err := o.Config.RESTConfig("plan")
	if err != nil {
		return err
	}
	limited, cancel := context.WithDeadline(ctx, limit.End())
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

// identify sets the instance of a publisher by the cluster; config is nil without one.
func identify(ctx context.Context, opened *configure.Opened, config *rest.Config, limit publisher.TimeLimit) error {
	ctx, cancel := context.WithDeadline(ctx, limit.End())
	defer cancel()
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

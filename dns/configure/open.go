package configure

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/budget"
	"github.com/signpostd/signpost/dns/budget/configmap"
	"github.com/signpostd/signpost/dns/desired"
	"github.com/signpostd/signpost/dns/listlimit"
	"github.com/signpostd/signpost/dns/owner"
	"github.com/signpostd/signpost/dns/plan"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/fanout"
	"github.com/signpostd/signpost/dns/provider/webhook"
	"github.com/signpostd/signpost/dns/publisher"
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/dns/tenancy"
	"github.com/signpostd/signpost/internal/history"
	"github.com/signpostd/signpost/internal/sharedflags"
	"github.com/signpostd/signpost/internal/tracing"
	"github.com/signpostd/signpost/kube"
)

// Input are the dependencies of a publisher.
type Input struct {
	// REST is the connection to the API server, for --registry=crd. It may be nil.
	REST *rest.Config
	// Provider, if not nil, replaces the provider of the options.
	Provider provider.Provider
	Log      *slog.Logger
	// Registerer registers metrics. It may be nil.
	Registerer prometheus.Registerer
	// Notify and MayWrite are as in [publisher.Config].
	Notify   func(publisher.Notice)
	MayWrite func() error
	// Tracer and History are as in [publisher.Config].
	Tracer  *tracing.Tracer
	History *history.Log
	// ConfigMaps stores budgets, in the namespace of this process; nil means that they aren't stored.
	ConfigMaps corev1client.ConfigMapsGetter
	// Accounts is as in [provider.Input].
	Accounts *provider.Accounts
	// Wrap wraps the transports of HTTP providers. It may be nil.
	Wrap func(http.RoundTripper) http.RoundTripper
}

// Opened is a publisher and everything that must run with it.
type Opened struct {
	Publisher *publisher.Publisher
	// Tables are the tables of all sources, to be filled from the cluster.
	Tables []kube.AnyTable
	// Background are functions of sources that must run all the time.
	Background []func(context.Context) error
	// ApprovalQueue is that of the publisher.
	ApprovalQueue *budget.ApprovalQueue
	// Statuses write the status of objects while the publisher leads.
	Statuses []StatusWriter
	// Servers are the name servers of the provider, with ports; nil if unknown.
	Servers []string

	options *Options
	log     *slog.Logger
}

// StatusWriter is the config of a source that writes the status of its objects. Its methods log
// failures of single objects, and don't return them.
type StatusWriter interface {
	// WriteStatus writes until ctx ends. WriteStatusOnce writes what is pending now.
	WriteStatus(ctx context.Context, client dynamic.Interface) error
	WriteStatusOnce(ctx context.Context, client dynamic.Interface) error
}

// reporter is a [StatusWriter] that also writes the outcomes of its objects.
type reporter interface {
	Report(outcomes source.Outcomes)
}

// Open creates a publisher. The options must be valid. Everything that it opens ends with ctx.
func (o *Options) Open(ctx context.Context, in Input) (*Opened, error) {
	opened := &Opened{options: o, log: in.Log}
	settings, err := o.Source.Settings()
	if err != nil {
		return nil, err
	}
	sources, err := o.openSources(in, settings, opened)
	if err != nil {
		return nil, err
	}
	domains, err := o.domains()
	if err != nil {
		return nil, err
	}
	to := in.Provider
	if to == nil {
		if to, err = o.OpenProvider(ctx, in); err != nil {
			return nil, err
		}
	}
	own, err := o.openOwner(ctx, in, to.Capabilities())
	if err != nil {
		return nil, err
	}
	if p, ok := to.(provider.NameServerLister); ok {
		opened.Servers = p.NameServers()
	}
	within, err := tenancy.NewDomains(o.NamespaceDomains, o.openNamespaces(opened, sources), ownershipNames(own))
	if err != nil {
		return nil, fmt.Errorf("--namespace-domains: %w", err)
	}
	want, err := o.openDesired(to.Capabilities(), refusal(own, o.rules(), domains), within)
	if err != nil {
		return nil, err
	}
	rules := o.rules()
	rules.Owner, rules.OldOwner, rules.OneLabel = own.ID(), o.Registry.MigrateFrom, o.RegistryKind() == registryAWSSD
	opened.ApprovalQueue = budget.NewApprovalQueue()
	opened.Publisher, err = publisher.New(publisher.Config{
		Settings: o.Fingerprint(), Store: o.openStore(in), Approvals: opened.ApprovalQueue,
		Name: o.Name, Sources: sources, Namespaces: settings.Namespaces, NamespacesOf: o.NamespacesOf(), Desired: want, Owner: own, Provider: to, Rules: *rules,
		NamePolicy: tenancy.Policy(o.NamePolicy), MaxNames: o.MaxNames,
		Domains: domains, Interval: max(o.Interval, minInterval), DeletionDelay: o.DeletionDelay, Budget: o.Budget, Approved: o.Approved, DryRun: o.DryRun,
		Limits:   publisher.Limits{BatchSize: o.BatchSize, BatchInterval: o.BatchInterval, ZonesCache: o.ZonesCacheDuration, ListingTime: o.ProviderCacheTime, CallsPerSecond: o.CallsPerSecond},
		MayWrite: in.MayWrite, Notify: in.Notify, Metrics: publisher.NewMetrics(in.Registerer), Log: in.Log,
		Tracer: in.Tracer, History: in.History, ProviderName: strings.Join(o.Providers, ","),
	})
	if err != nil {
		return nil, err
	}
	return opened, nil
}

func (o *Options) openStore(in Input) budget.Store {
	namespace := processNamespace()
	switch {
	case in.ConfigMaps == nil:
		in.Log.Info(notStored, "reason", "there is no cluster to store them in")
	case namespace == "":
		in.Log.Warn(notStored, "reason", "the namespace of this process isn't known: set POD_NAMESPACE")
	default:
		return configmap.New(in.ConfigMaps, namespace, o.Name, o.Registry.OwnerID)
	}
	return nil
}

// notStored is logged if budgets are lost at a restart.
const notStored = "Budgets, approvals and known settings are not stored: they end with this process"

// openSources opens the sources. Their tables call Changed of the publisher, which exists before
// any table is filled.
func (o *Options) openSources(in Input, settings source.Settings, opened *Opened) ([]publisher.NamedSource, error) {
	var sources []publisher.NamedSource
	var errs []error
	for _, name := range o.Sources {
		if slices.ContainsFunc(sources, func(s publisher.NamedSource) bool { return s.Name == name }) {
			continue
		}
		place := len(sources)
		s, err := o.sourcePlugin(name).Open(o.sourceConfigs[name], source.Input{
			Settings: settings, Log: in.Log,
			Changed: publisher.Changed(func() *publisher.Publisher { return opened.Publisher }, place),
		})
		if err != nil {
			errs = append(errs, fmt.Errorf("source %s: %w", name, err))
			continue
		}
		sources = append(sources, publisher.NamedSource{Name: name, Source: s})
		opened.Tables = append(opened.Tables, s.Tables...)
		if w, ok := o.sourceConfigs[name].(StatusWriter); ok && !o.DryRun {
			opened.Statuses = append(opened.Statuses, w)
			if r, ok := w.(reporter); ok {
				r.Report(publisher.Outcomes(func() *publisher.Publisher { return opened.Publisher }, name))
			}
		}
		if s.Run != nil {
			opened.Background = append(opened.Background, s.Run)
		}
	}
	return sources, errors.Join(errs...)
}

// CheckSources returns the errors of the sources' settings without contacting any server. The
// options must be valid.
func (o *Options) CheckSources() error {
	settings, err := o.Source.Settings()
	if err != nil {
		return err
	}
	_, err = o.openSources(Input{Log: slog.New(slog.DiscardHandler)}, settings, &Opened{})
	return err
}

func (o *Options) sourcePlugin(name string) source.Plugin {
	place := slices.IndexFunc(o.sourcePlugins, func(p source.Plugin) bool { return p.Name == name })
	return o.sourcePlugins[place]
}

// openOwner opens the registry. can is what the provider can do.
func (o *Options) openOwner(ctx context.Context, in Input, can provider.Capabilities) (owner.Owner, error) {
	switch o.RegistryKind() {
	case registryAWSSD:
		return o.openDescriptions(in)
	case registryNone:
		if slices.Contains(o.Providers, providerAWSSD) {
			return o.openDescriptions(in)
		}
		return owner.None{}, nil
	case registryTXT:
		return owner.NewTXT(o.txtOptions(in))
	case registryDynamoDB:
		return o.openDynamoDB(ctx, in, can)
	default:
		return o.openCRD(in, can)
	}
}

// OpenProvider opens the provider, or a fanout if there are several. The options must be valid.
func (o *Options) OpenProvider(ctx context.Context, in Input) (provider.Provider, error) {
	domains, err := o.domains()
	if err != nil {
		return nil, err
	}
	if in.Wrap == nil {
		in.Wrap = func(rt http.RoundTripper) http.RoundTripper { return rt }
	}
	if o.TLS.CA != "" {
		// If the file can't be read, the provider says so.
		o.authorities, _ = os.ReadFile(o.TLS.CA)
	}
	input := provider.Input{
		DryRun: o.DryRun, OwnerID: o.Registry.OwnerID, Domains: domains, ZoneIDs: o.ZoneIDs, ZoneNames: o.ZoneNames,
		CreateOnly: o.Policy == string(plan.CreateOnly), TLS: o.TLS, Accounts: in.Accounts, Wrap: in.Wrap, Log: in.Log, Registerer: in.Registerer,
	}
	var providers []provider.Provider
	for _, name := range o.Providers {
		plugin := o.providerPlugin(name)
		input.Name, input.Budget = name, listlimit.New(o.Reading)
		p, err := o.providerConfigs[plugin.Names[0]].Open(ctx, input)
		if err != nil {
			return nil, fmt.Errorf("provider %s: %w", name, err)
		}
		providers = append(providers, p)
	}
	if len(providers) == 1 {
		return providers[0], nil
	}
	return fanout.New(providers), nil
}

func (o *Options) openDesired(can provider.Capabilities, refuse func(*dns.RecordSet) error, within *tenancy.Domains) (*desired.Set, error) {
	options := o.desiredOptions()
	options.Domains, options.Refuse = within, refuse
	options.Properties, options.NameCharacters, options.OneName = can.Properties, can.NameCharacters, can.OneName
	return desired.New(options)
}

// desiredOptions returns the options of the wanted record sets, without those of the provider and the registry.
func (o *Options) desiredOptions() desired.Options {
	targets, _ := dns.NewTargetFilter(o.TargetNets, o.ExceptNets) // its problems are remarks
	return desired.Options{
		Sources: o.Sources, OneTTL: o.sourcesWith(func(p source.Plugin) bool { return p.OneTTL }), DefaultTargets: o.DefaultTargets, ForceDefaultTargets: o.ForceDefaultTargets,
		NAT64: o.NAT64Networks, Targets: targets, ManagedTypes: o.ManagedTypes, CreatePTR: o.CreatePTR,
		MinTTL: o.MinTTL, ForceMinTTL: o.ForceMinTTL, MaxTTL: o.MaxTTL, Labelled: tenancy.Policy(o.NamePolicy) == tenancy.Namespaced, PreferAlias: o.PreferAlias,
	}
}

// WebhookLimits returns the limits of a webhook server from the flags.
func (o *Options) WebhookLimits() webhook.Limits {
	return *sharedflags.Of(o.shared, webhook.DefaultLimits())
}

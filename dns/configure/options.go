package configure

import (
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/dns/budget"
	"github.com/signpostd/signpost/dns/listlimit"
	"github.com/signpostd/signpost/dns/plan"
	"github.com/signpostd/signpost/dns/plugins"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/publisher"
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/dns/tenancy"
	"github.com/signpostd/signpost/internal/certfiles"
	"github.com/signpostd/signpost/internal/flaggroup"
	"github.com/signpostd/signpost/internal/sharedflags"
)

// Values of --registry.
const (
	registryTXT      = "txt"
	registryNone     = "noop"
	registryDynamoDB = "dynamodb"
	registryCRD      = "crd"
	registryAWSSD    = "aws-sd"
)

// Options are the settings of one publisher as the user gave them. [New] creates them.
type Options struct {
	// Name distinguishes the publishers of a configuration file.
	Name string

	Sources, Providers []string
	Policy             string
	Interval           time.Duration
	MinEventInterval   time.Duration
	Events, DryRun     bool
	Once               bool
	EventsEmit         []string

	ManagedTypes, ExcludedTypes          []string
	DomainFilter, ExcludeDomains         []string
	RegexDomainFilter, RegexDomainExcept string
	ZoneNames, ZoneIDs                   []string

	DefaultTargets         []string
	ForceDefaultTargets    bool
	PreferAlias, CreatePTR bool
	NAT64Networks          []string
	TargetNets, ExceptNets []string
	MinTTL, MaxTTL         time.Duration
	ForceMinTTL            bool
	NamePolicy             string
	NamespaceDomains       []tenancy.Rule
	MaxNames               int
	Registry               Registry
	ProviderCacheTime      time.Duration
	ZonesCacheDuration     time.Duration
	BatchSize              int
	BatchInterval          time.Duration
	CallsPerSecond         float64
	DeletionDelay          time.Duration
	TLS                    certfiles.ClientFiles
	// authorities is the content of the file of --tls-ca when the provider was opened.
	authorities     []byte
	Budget          budget.Limits
	Reading         listlimit.Limits
	Approved        string
	WebhookServer   bool
	Source          *source.Options
	sourceConfigs   map[string]source.Config
	providerConfigs map[string]provider.Config
	sourcePlugins   []source.Plugin
	providerPlugins []provider.Plugin
	// publisherFlags are the flags of the publisher, without those of the process.
	publisherFlags *pflag.FlagSet
	// shared are the common settings of several sources, providers or registries.
	shared *sharedflags.Set
}

// Registry are the settings of ownership.
type Registry struct {
	Kind                        string
	OwnerID, MigrateFrom        string
	Instance                    string
	Prefix, Suffix, Wildcard    string
	Encrypt                     bool
	AESKey                      string
	CacheInterval               time.Duration
	DynamoDBRegion, DynamoTable string
	CRDNamespace                string
}

// New returns options with the defaults.
func New() *Options {
	o := &Options{
		Interval: publisher.DefaultInterval, DeletionDelay: 5 * time.Second, MinEventInterval: 5 * time.Second,
		ManagedTypes: plan.DefaultManaged(),
		NamePolicy:   string(tenancy.Shared), MaxNames: DefaultMaxNames,
		Registry:      Registry{Kind: registryTXT, OwnerID: "default", DynamoTable: "external-dns"},
		Budget:        budget.DefaultLimits(),
		Reading:       listlimit.Limits{ZoneRecords: listlimit.DefaultZoneRecords, Records: listlimit.DefaultRecords, Zones: listlimit.DefaultZones},
		Source:        source.NewOptions(),
		sourceConfigs: map[string]source.Config{}, providerConfigs: map[string]provider.Config{},
		sourcePlugins: plugins.Sources(), providerPlugins: plugins.Providers(), shared: &sharedflags.Set{},
		publisherFlags: pflag.NewFlagSet("publisher", pflag.ContinueOnError),
		// All Events are sent by default.
		EventsEmit: []string{publisher.ReasonReady, publisher.ReasonDeleted, publisher.ReasonError},
	}
	for _, p := range o.sourcePlugins {
		o.sourceConfigs[p.Name] = p.New()
		o.shared.Give(o.sourceConfigs[p.Name])
		o.Source.Sources = append(o.Source.Sources, p.Name)
	}
	for _, p := range o.providerPlugins {
		o.providerConfigs[p.Names[0]] = p.New()
		o.shared.Give(o.providerConfigs[p.Names[0]])
	}
	o.Source.Declared = plugins.Declarations()
	return o
}

// Flags adds all flags of a publisher.
func (o *Options) Flags(flags *pflag.FlagSet) {
	o.publisherFlags = pflag.NewFlagSet(flags.Name(), pflag.ContinueOnError)
	flaggroup.Add(o.publisherFlags, "Main", o.selectorFlags)
	flaggroup.Add(o.publisherFlags, "Change", o.loopFlags)
	flaggroup.Add(o.publisherFlags, "Record", o.recordFlags)
	flaggroup.Add(o.publisherFlags, "Ownership", o.registryFlags)
	flaggroup.Add(o.publisherFlags, "Request", o.providerFlags)
	flaggroup.Add(o.publisherFlags, "Source", o.Source.Flags)
	for _, p := range o.sourcePlugins {
		flaggroup.Add(o.publisherFlags, "Source", o.sourceConfigs[p.Name].Flags)
	}
	for _, p := range o.providerPlugins {
		flaggroup.Add(o.publisherFlags, providerHeading(p.Names[0]), o.providerConfigs[p.Names[0]].Flags)
	}
	o.shared.Flags(o.publisherFlags)
	flaggroup.Set(o.publisherFlags, "Main", "policy", "domain-filter", "txt-owner-id", "once", "dry-run", "interval")
	addMissing(o.publisherFlags)
	addSecretFiles(o.publisherFlags)
	o.headings()
	flags.AddFlagSet(o.publisherFlags)
}

// headings groups flags of several plugins under the provider whose name they begin with, and the
// file of a secret with the secret.
func (o *Options) headings() {
	o.publisherFlags.VisitAll(func(f *pflag.Flag) {
		if flaggroup.Of(f) != "" {
			return
		}
		if secret := o.publisherFlags.Lookup(strings.TrimSuffix(f.Name, secretFileSuffix)); secret != nil && flaggroup.Of(secret) != "" {
			flaggroup.Set(o.publisherFlags, flaggroup.Of(secret), f.Name)
			return
		}
		for _, p := range o.providerPlugins {
			if strings.HasPrefix(f.Name, p.Names[0]+"-") {
				flaggroup.Set(o.publisherFlags, providerHeading(p.Names[0]), f.Name)
				return
			}
		}
	})
}

// providerHeading returns the heading of a provider's flags.
func providerHeading(name string) string { return "Provider " + name }

func (o *Options) selectorFlags(f *pflag.FlagSet) {
	f.StringArrayVar(&o.Sources, "source", o.Sources, "`kind` of objects to publish; may be repeated: "+strings.Join(SourceNames(), ", "))
	f.StringArrayVar(&o.Providers, "provider", o.Providers, "where to publish; may be repeated, then each provider gets the same records: "+strings.Join(ProviderNames(), ", "))
}

func (o *Options) loopFlags(f *pflag.FlagSet) {
	f.StringVar(&o.Policy, "policy", o.Policy, "allowed changes: sync (all, on owned records), upsert-only (no deletions) or create-only; required")
	f.DurationVar(&o.DeletionDelay, "deletion-delay", o.DeletionDelay, "how long a record must be unwanted before it is deleted; replacements aren't delayed")
	f.DurationVar(&o.Interval, "interval", o.Interval, "how often each zone is read and compared; changes of objects are published at once")
	f.DurationVar(&o.MinEventInterval, "min-event-sync-interval", o.MinEventInterval, "accepted for compatibility, without effect: a change is published at once, a burst within 100 ms")
	f.BoolVar(&o.Events, "events", o.Events, "accepted for compatibility, without effect: changes of objects are always followed")
	f.BoolVar(&o.Once, "once", o.Once, "bring the zones up to date once and exit; the exit status is 1 if a change failed, is held or exceeds --max-names-per-namespace")
	f.BoolVar(&o.DryRun, "dry-run", o.DryRun, "change nothing, and log the changes instead")
	f.StringArrayVar(&o.EventsEmit, "events-emit", o.EventsEmit, "`reason` of Events to send about records: RecordReady, RecordDeleted, RecordError, or none; may be repeated; Events about other problems are always sent")
	b := &o.Budget
	f.IntVar(&b.Deletions.Records, "max-deletions", b.Deletions.Records, "how many owned record sets of a zone may be deleted within the deletion window without approval")
	f.IntVar(&b.Deletions.Percent, "max-deletions-percent", b.Deletions.Percent, "percentage of the owned record sets of a zone that may be deleted, if that is more than --max-deletions; 100 is no limit")
	f.IntVar(&b.SettingsUpdates.Records, "max-updates", b.SettingsUpdates.Records, "how many owned record sets of a zone new settings may take targets from within the deletion window without approval")
	f.IntVar(&b.SettingsUpdates.Percent, "max-updates-percent", b.SettingsUpdates.Percent, "percentage of the owned record sets of a zone that new settings may take targets from, if that is more than --max-updates; 100 is no limit")
	f.IntVar(&b.ObjectUpdates.Percent, "max-object-updates-percent", b.ObjectUpdates.Percent, "percentage of the owned record sets of a zone that changes of objects may take targets from; 100 is no limit")
	f.DurationVar(&b.Window, "deletion-window", b.Window, "how long a deletion or an update counts towards its limit")
	f.StringVar(&o.Approved, "approve-plan", o.Approved, "`hash` of a plan that is held and may be made; signpost approve does it in the running process")
}

func (o *Options) recordFlags(f *pflag.FlagSet) {
	f.StringArrayVar(&o.ManagedTypes, "managed-record-types", o.ManagedTypes, "`type` of records to manage; may be repeated")
	f.StringArrayVar(&o.ExcludedTypes, "exclude-record-types", o.ExcludedTypes, "`type` of records not to manage; may be repeated")
	f.StringArrayVar(&o.DomainFilter, "domain-filter", o.DomainFilter, "`domain` whose names are managed (default all); may be repeated")
	f.StringArrayVar(&o.ExcludeDomains, "exclude-domains", o.ExcludeDomains, "`domain` whose names are not managed; may be repeated")
	f.StringVar(&o.RegexDomainFilter, "regex-domain-filter", o.RegexDomainFilter, "regular expression for the names that are managed; --domain-filter and --exclude-domains are then ignored")
	f.StringVar(&o.RegexDomainExcept, "regex-domain-exclusion", o.RegexDomainExcept, "regular expression for the names that are not managed")
	f.StringArrayVar(&o.ZoneNames, "zone-name-filter", o.ZoneNames, "the only `domains` whose zones are used: of their names or below them; may be repeated")
	f.StringArrayVar(&o.ZoneIDs, "zone-id-filter", o.ZoneIDs, "`suffix` of the IDs of the zones to use; may be repeated")
	f.StringArrayVar(&o.DefaultTargets, "default-targets", o.DefaultTargets, "`target` of records that have none, as DNSEndpoints and the source connector can ask for; objects of other sources that have no address get no record; may be repeated")
	f.BoolVar(&o.ForceDefaultTargets, "force-default-targets", o.ForceDefaultTargets, "give the default targets to all records, also in the place of addresses and of the annotation target; objects without an address still get no record")
	f.BoolVar(&o.PreferAlias, "prefer-alias", o.PreferAlias, "make CNAME records aliases at providers that support those")
	f.BoolVar(&o.CreatePTR, "create-ptr", o.CreatePTR, "publish a PTR record for each address; needs PTR among --managed-record-types")
	f.StringArrayVar(&o.NAT64Networks, "nat64-networks", o.NAT64Networks, "`network` (/96) of IPv6 addresses whose embedded IPv4 addresses are published too; may be repeated")
	f.StringArrayVar(&o.TargetNets, "target-net-filter", o.TargetNets, "`network` of the targets to publish; may be repeated")
	f.StringArrayVar(&o.ExceptNets, "exclude-target-net", o.ExceptNets, "`network` of targets not to publish; may be repeated")
	f.DurationVar(&o.MinTTL, "min-ttl", o.MinTTL, "TTL of records that ask for none")
	f.BoolVar(&o.ForceMinTTL, "force-min-ttl", o.ForceMinTTL, "give --min-ttl also to records that ask for a lower TTL")
	f.DurationVar(&o.MaxTTL, "max-ttl", o.MaxTTL, "highest TTL of records; 0 for no limit")
	f.StringVar(&o.NamePolicy, namePolicyFlag, o.NamePolicy, "who gets a name that several namespaces ask for: shared (the targets of all are merged) or namespace (the namespace that has it; the others get an Event); in a config file the default is namespace")
	f.Var(tenancy.Value{Target: &o.NamespaceDomains}, "namespace-domains", "`rule` with the domains that a namespace may publish, such as team-a=a.example.org,b.example.org; a label selector in braces, * (every namespace) or - (objects without a namespace) may take the place of the namespace; may be repeated (default all)")
	f.IntVar(&o.MaxNames, "max-names-per-namespace", o.MaxNames, "most names that a namespace may have in a zone; further ones are refused; 0 for no limit")
}

func (o *Options) registryFlags(f *pflag.FlagSet) {
	r := &o.Registry
	f.StringVar(&r.Kind, "registry", r.Kind, "where ownership of records is kept: txt, noop (nowhere: every record may be changed), dynamodb, crd, or aws-sd (at Cloud Map: in the descriptions of services; always with --provider=aws-sd, unless noop is given)")
	f.StringVar(&r.OwnerID, "txt-owner-id", r.OwnerID, "`name` of the owner of the records; unique among all programs that publish in a zone")
	f.StringVar(&r.MigrateFrom, "migrate-from-txt-owner", r.MigrateFrom, "`owner` whose records become ours where objects ask for them")
	f.StringVar(&r.Instance, "instance", r.Instance, "`name` of this process among those that have its owner ID, written into ownership records; records of another instance are left alone; none disables it (default: derived from the cluster)")
	f.StringVar(&r.Prefix, "txt-prefix", r.Prefix, "prefix of the names of ownership records; may contain %{record_type}")
	f.StringVar(&r.Suffix, "txt-suffix", r.Suffix, "suffix of the first label in the names of ownership records; may contain %{record_type}")
	f.StringVar(&r.Wildcard, "txt-wildcard-replacement", r.Wildcard, "replacement for the asterisk in the names of ownership records")
	f.BoolVar(&r.Encrypt, "txt-encrypt-enabled", r.Encrypt, "encrypt ownership records")
	f.StringVar(&r.AESKey, "txt-encrypt-aes-key", r.AESKey, "`key` to encrypt with: 32 bytes, or their base64")
	f.DurationVar(&r.CacheInterval, "txt-cache-interval", r.CacheInterval, "accepted for compatibility, without effect: --provider-cache-time is for the same")
	f.StringVar(&r.DynamoDBRegion, "dynamodb-region", r.DynamoDBRegion, "AWS `region` of the table for --registry=dynamodb")
	f.StringVar(&r.DynamoTable, "dynamodb-table", r.DynamoTable, "`name` of the table for --registry=dynamodb")
	f.StringVar(&r.CRDNamespace, "crd-registry-namespace", r.CRDNamespace, "`namespace` of the DNSRecords for --registry=crd (default the one of this process)")
	provider.Secret(f, "txt-encrypt-aes-key")
}

func (o *Options) providerFlags(f *pflag.FlagSet) {
	f.BoolVar(&o.WebhookServer, "webhook-server", o.WebhookServer, "serve the provider to other programs over the webhook protocol on 127.0.0.1:8888, and publish nothing")
	f.DurationVar(&o.ProviderCacheTime, "provider-cache-time", o.ProviderCacheTime, "how long a listing of a zone is used before the zone is read again, if that is longer than --interval; 0 for as long as the provider needs")
	f.DurationVar(&o.ZonesCacheDuration, "zones-cache-duration", o.ZonesCacheDuration, "how long the list of zones is used before it is read again, if that is longer than --interval")
	f.IntVar(&o.BatchSize, "batch-change-size", o.BatchSize, "most changes in one call of the provider, 0 for as many as the provider takes; a lower limit of the provider itself counts")
	f.Float64Var(&o.CallsPerSecond, "provider-calls-per-second", o.CallsPerSecond, "most calls of the provider in a second, 0 for any number; a stricter limit of the provider itself counts")
	f.DurationVar(&o.BatchInterval, "batch-change-interval", o.BatchInterval, "pause between two calls of the provider with changes in one zone; a longer one of the provider itself counts")
	f.IntVar(&o.Reading.ZoneRecords, "max-zone-records", o.Reading.ZoneRecords, "most record sets that are read of a zone, with 400 bytes of memory each on average; a zone with more is an error, and is read again later")
	f.IntVar(&o.Reading.Records, "max-records", o.Reading.Records, "most record sets that are read of all zones of a provider, with 400 bytes of memory each on average")
	f.IntVar(&o.Reading.Zones, "max-zones", o.Reading.Zones, "most zones that a provider may list, with or without records of ours")
	f.StringVar(&o.TLS.CA, "tls-ca", o.TLS.CA, "`path` of the CA certificates for the server of the provider")
	f.StringVar(&o.TLS.Cert, "tls-client-cert", o.TLS.Cert, "`path` of the client certificate for the server of the provider; a replaced file is used for new connections")
	f.StringVar(&o.TLS.Key, "tls-client-cert-key", o.TLS.Key, "`path` of the key of the client certificate")
}

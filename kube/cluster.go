package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/internal/objectmeta"
)

// dialTimeout bounds a connection attempt to the API server. TCP repeats a lost SYN after 1 s and 3 s. Its
// third repetition, at 7 s, would be later than a new attempt of ours.
const dialTimeout = 4 * time.Second

// DefaultName is the name of a cluster for which none is given.
const DefaultName = "local"

// Options configure a [Cluster].
type Options struct {
	// Config is the connection to the API server. Its rate limits are ignored: each resource has at most one
	// request under way, per namespace if it is read by namespace.
	Config *rest.Config
	// Name is the name of the cluster; empty means [DefaultName].
	Name string
	// Namespaces restricts namespaced kinds to these namespaces, for a process that has no rights elsewhere.
	// Each is listed and watched on its own. None means all; more than [MaxNamespaces] are an error.
	Namespaces []string
	// NamespacesOf replaces Namespaces for single resources. An empty list means all.
	NamespacesOf map[schema.GroupResource][]string
	// Registerer registers the metrics; nil means no metrics.
	Registerer prometheus.Registerer
	// Standby delays the metrics with the cluster's name until [Cluster.ShowMetrics], because another cluster
	// of that name has registered its own. Until then, failures before the cluster has settled are logged at
	// debug level: they often share one cause, which the owner of the cluster logs once.
	Standby bool
	// Untrusted is set if the API server is run by others than this process.
	Untrusted *UntrustedLimits
	// Logger logs one line per state change of a resource; nil means slog.Default().
	Logger *slog.Logger
	// Report receives the problems of objects, again for each version of an object with the problem; nil drops
	// them.
	Report objectmeta.Report
	// Fixed, if not nil, receives the objects whose problems are fixed: a newer version of the object lacks
	// them, or the object is gone. When Run returns, all are.
	Fixed objectmeta.Fixed
	// Changed, if not nil, is called after each state change of a resource, from any goroutine. It must not
	// block.
	Changed func()
	// Rewound, if not nil, is called when the resource version of the API server went back, from any
	// goroutine. It must not block.
	Rewound func(Rewind)
}

// Cluster fills tables from one API server.
type Cluster struct {
	name      string
	log       *slog.Logger
	feeds     []*feed
	metrics   *metrics
	rewinds   *rewinds
	config    *rest.Config
	client    *http.Client
	untrusted *UntrustedLimits
	// notify is [Options].Changed.
	notify func()
	// disconnect closes the connections. lastContact returns when the API server last sent anything.
	disconnect  func()
	lastContact func() time.Time

	settled chan struct{}
	settle  func()
	ran     atomic.Bool
	// standby is true from New with [Options].Standby until ShowMetrics.
	standby atomic.Bool
}

// New returns a cluster that fills the tables. A table belongs to one cluster only. Tables of one resource
// share a watch; they are filled, and their handlers called, in the given order. New doesn't contact the API
// server.
func New(o Options, tables ...AnyTable) (*Cluster, error) {
	if len(tables) == 0 {
		return nil, errors.New("make cluster: no tables; name the kinds to be read")
	}
	if err := checkNamespaces(o.Namespaces); err != nil {
		return nil, fmt.Errorf("make cluster: %w", err)
	}
	for resource, names := range o.NamespacesOf {
		if err := checkNamespaces(names); err != nil {
			return nil, fmt.Errorf("make cluster: %s: %w", resource, err)
		}
	}
	o = o.withDefaults()
	cfg, d := readerConfig(o.Config)
	if o.Untrusted != nil {
		o.Untrusted = o.Untrusted.withDefaults()
		o.Untrusted.pace.slowed = func() {
			o.Logger.Warn("Untrusted API server exceeds its read rate, so its changes are delayed", "cluster", o.Name, "bytesPerSecond", o.Untrusted.BytesPerSecond)
		}
		cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return &limiter{next, o.Untrusted} })
	}
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("make client for cluster %s: %w", o.Name, err)
	}
	if o.Untrusted != nil {
		client.CheckRedirect = noRedirects
	}
	c := &Cluster{
		name: o.Name, log: o.Logger.With("cluster", o.Name), notify: o.Changed, settled: make(chan struct{}),
		config: cfg, client: client, untrusted: o.Untrusted,
		metrics: newMetrics(o.Registerer, o.Name), rewinds: newRewinds(),
		disconnect: func() {
			utilnet.CloseIdleConnectionsFor(client.Transport)
			d.close()
		},
		lastContact: d.lastContactTime,
	}
	c.rewinds.cluster, c.rewinds.log, c.rewinds.notify = o.Name, c.log, o.Rewound
	c.metrics.addRewinds(c.rewinds.counted)
	c.settle = sync.OnceFunc(func() { close(c.settled) })
	if err := c.assemble(o, cfg, client, tables); err != nil {
		c.metrics.unregister()
		return nil, fmt.Errorf("make cluster %s: %w", o.Name, err)
	}
	return c, nil
}

func (o Options) withDefaults() Options {
	o.Name = cmp.Or(o.Name, DefaultName)
	if o.Registerer == nil {
		o.Registerer = prometheus.NewRegistry()
	}
	o.Logger = cmp.Or(o.Logger, slog.Default())
	if o.Report == nil {
		o.Report = func(objectmeta.Problem) {}
	}
	if o.Changed == nil {
		o.Changed = func() {}
	}
	if o.Rewound == nil {
		o.Rewound = func(Rewind) {}
	}
	return o
}

// readerConfig returns the configuration for watching an API server, and the dialer of its connections. A
// configuration with a transport dials by itself.
func readerConfig(cfg *rest.Config) (*rest.Config, *dialer) {
	cfg = rest.CopyConfig(cfg)
	// Watches last for minutes, and only a few requests are ever under way.
	cfg.Timeout, cfg.QPS, cfg.RateLimiter = 0, -1, nil
	// With each watch of Endpoints the API server warns that they are deprecated.
	cfg.WarningHandler, cfg.WarningHandlerWithContext = rest.NoWarnings{}, nil
	if cfg.Transport != nil {
		return cfg, newDialer(nil)
	}
	if cfg.Dial == nil {
		cfg.Dial = (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext
	}
	d := newDialer(cfg.Dial)
	cfg.Dial = d.DialContext
	return cfg, d
}

// assemble adds a feed for each resource of the tables.
func (c *Cluster) assemble(o Options, cfg *rest.Config, client *http.Client, tables []AnyTable) error {
	for _, t := range tables {
		f, err := c.feedFor(t.spec().withName(tables), o)
		if err != nil {
			return err
		}
		if err := f.add(t); err != nil {
			return err
		}
	}
	for _, f := range c.feeds {
		if err := f.connect(cfg, client); err != nil {
			return err
		}
		for _, p := range f.parts {
			p.state.changed, p.state.lastContact = func() { c.changed(p) }, c.lastContact
			p.requiredFilled, p.settle = c.requiredFilled, c.checkSettled
		}
		c.metrics.add(f)
	}
	c.standby.Store(o.Standby)
	if o.Standby {
		return nil
	}
	return c.metrics.register()
}

// ShowMetrics ends [Options].Standby and registers the metrics. Call it when no other cluster of the name is
// registered any more. After Run has returned it registers nothing.
func (c *Cluster) ShowMetrics() error {
	c.standby.Store(false)
	return c.metrics.register()
}

// feedFor returns the feed of a resource, creating it if needed.
func (c *Cluster) feedFor(r watchSpec, o Options) (*feed, error) {
	for _, f := range c.feeds {
		if f.resource == r.resource {
			return f, nil
		}
		if f.kind == r.kind {
			return nil, fmt.Errorf("tables of %s and of %s both have the name %s; rename one of the kinds",
				f.resource.GroupResource(), r.resource.GroupResource(), r.kind)
		}
	}
	namespaces := o.Namespaces
	if own, ok := o.NamespacesOf[r.resource.GroupResource()]; ok {
		namespaces = own
	}
	f, err := newFeed(r, binding{
		scope:      NewScope(o.Name),
		namespaces: namespaces,
		report:     o.Report,
		fixed:      o.Fixed,
		untrusted:  o.Untrusted,
		rewinds:    c.rewinds,
		now:        time.Now,
		lagObserver: func(kind string) (func(int64), error) {
			return c.metrics.lagObserver(kind, time.Now)
		},
	})
	if err != nil {
		return nil, err
	}
	c.feeds = append(c.feeds, f)
	return f, nil
}

// Run fills the tables and follows the API server until ctx ends. It retries an unreachable API server for
// ever. Run must be called once only.
func (c *Cluster) Run(ctx context.Context) error {
	if c.ran.Swap(true) {
		return fmt.Errorf("run cluster %s: it ran before; make a new one", c.name)
	}
	defer c.metrics.unregister()
	defer c.disconnect()
	if c.untrusted != nil {
		ctx = withoutLog(ctx)
	}
	var running sync.WaitGroup
	for _, f := range c.feeds {
		for _, p := range f.parts {
			running.Go(func() { p.run(ctx) })
		}
	}
	running.Wait()
	for _, f := range c.feeds {
		f.reported.gone(func(key) bool { return true })
	}
	return nil
}

// Settled returns a channel that is closed when each table has been filled once, or the cluster is known to
// lack or forbid its optional kind. The handlers have then been called for all objects. A kind counts as
// forbidden after two refusals, the second one after all required kinds were filled.
func (c *Cluster) Settled() <-chan struct{} { return c.settled }

// Status returns the status of each resource, in the order of the tables. Tables that share a watch share a
// status.
func (c *Cluster) Status() []TableStatus {
	all := make([]TableStatus, len(c.feeds))
	for i, f := range c.feeds {
		all[i] = f.status()
	}
	return all
}

// changed logs a state change of a part.
func (c *Cluster) changed(p *part) {
	defer c.notify()
	s, all := p.status(), p.feed.status()
	log := c.log.With("kind", all.Kind, "objects", all.Objects)
	if all.State == Synced {
		// Several namespaces that are in sync again get one line.
		if !p.feed.synced.Swap(true) {
			level, message := slog.LevelDebug, "The kind is in sync"
			if p.feed.warned.Swap(false) {
				level, message = slog.LevelInfo, "The kind is in sync again"
			}
			log.Log(context.Background(), level, message)
		}
	} else {
		p.feed.synced.Store(false)
	}
	if p.namespace != "" {
		log = log.With("namespace", p.namespace)
	}
	warn := func(message string, args ...any) {
		if c.standby.Load() && !s.missing() {
			log.Debug(message, args...)
			return
		}
		p.feed.warned.Store(true)
		log.Warn(message, args...)
	}
	switch {
	case s.State == Synced:
	case s.Reason == WentBack: // one line says so for all kinds
	case s.State == Waiting && s.Reason == Forbidden:
		warn("This process may not read the kind, and tries again every few seconds: grant it list and watch", "resource", s.Resource.String(), "err", s.Detail)
	case s.Reason == OtherVersion:
		warn("The kind can't be read in the version that the cluster has, and is tried again every few seconds; nothing is concluded from that", "resource", s.Resource.String(), "err", s.Detail)
	case s.Reason == DiscoveryForbidden:
		warn("The cluster lacks the version of the kind that is read, and may have others, which this process may not discover; nothing is concluded from that", "resource", s.Resource.String(), "err", s.Detail)
	case s.Reason == Terminating:
		warn("The definition of the kind is being removed, so its objects are deleted; until that is over, no records of theirs are", "resource", s.Resource.String())
	case s.missing():
		log.Info("The cluster lacks the kind; it is read as soon as its CRD is installed", "resource", s.Resource.String())
	default:
		warn("The kind can't be read now, and is tried again every few seconds; what is known of it stays", "resource", s.Resource.String(), "reason", s.Reason, "err", s.Detail)
	}
	c.checkSettled()
}

// checkSettled closes the channel that Settled returns if all tables are settled.
func (c *Cluster) checkSettled() {
	if !slices.ContainsFunc(c.feeds, func(f *feed) bool { return !f.settled() }) {
		c.settle()
	}
}

func (c *Cluster) requiredFilled() bool {
	return !slices.ContainsFunc(c.feeds, func(f *feed) bool { return !f.optional && !f.status().Filled })
}

package kube

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

// dialTimeout bounds an attempt to connect to the API server. TCP repeats a lost SYN after
// 1 s and after 3 s. Its next attempt, after 7 s, would come later than a new one of ours.
const dialTimeout = 4 * time.Second

// DefaultName is the name of a cluster that isn't given one.
const DefaultName = "local"

// Options are what a [Cluster] is made from.
type Options struct {
	// Config says where the API server is and how to talk to it. Its rate limits
	// don't apply: each resource has at most one request under way, in each namespace
	// if it is read by namespace.
	Config *rest.Config
	// Name is the name of the cluster; empty means [DefaultName].
	Name string
	// Namespaces are the only ones that are read, of kinds that have namespaces: for a process
	// that may not read others. Each is listed and watched for itself. None is all; more than
	// [MaxNamespaces] are an error.
	Namespaces []string
	// NamespacesOf are those of single resources, in the place of Namespaces. An empty list is all.
	NamespacesOf map[schema.GroupResource][]string
	// Registerer takes the metrics; nil means that nobody wants them.
	Registerer prometheus.Registerer
	// Standby keeps the metrics that have the name of the cluster back until
	// [Cluster.ShowMetrics] is called: another cluster of the name has its own there. Until then, failures that
	// keep the cluster from settling are logged at debug: they often have one cause, which its owner logs once.
	Standby bool
	// Untrusted is not nil if the API server isn't run by those who run this process.
	Untrusted *UntrustedLimits
	// Logger takes one line for each change of state of a resource; nil means slog.Default().
	Logger *slog.Logger
	// Report takes the problems of objects; nil drops them.
	Report Report
	// Changed is called after each change of state of a resource, from any goroutine; it
	// must not block. It may be nil.
	Changed func()
	// Rewound is called when the resource version of the API server is found to have gone back, from any goroutine; it must not
	// block. It may be nil.
	Rewound func(Rewind)
}

// Cluster fills tables from one API server.
type Cluster struct {
	name    string
	log     *slog.Logger
	feeds   []*feed
	metrics *metrics
	rewinds *rewinds
	config  *rest.Config
	client  *http.Client
	foreign *UntrustedLimits
	// told is called after each change of state.
	told func()
	// disconnect closes the connections, and heard returns when anything last came from the API server.
	disconnect func()
	heard      func() time.Time

	settled chan struct{}
	settle  func()
	ran     atomic.Bool
	// standby is true from New with [Options].Standby to ShowMetrics.
	standby atomic.Bool
}

// New returns a cluster that fills these tables; a table belongs to one cluster only. Tables
// of one resource share one watch: they are filled, and their handlers told, in the given
// order. New doesn't contact the API server.
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
		name: o.Name, log: o.Logger.With("cluster", o.Name), told: o.Changed, settled: make(chan struct{}),
		config: cfg, client: client, foreign: o.Untrusted,
		metrics: newMetrics(o.Registerer, o.Name), rewinds: newRewinds(),
		disconnect: func() {
			utilnet.CloseIdleConnectionsFor(client.Transport)
			d.close()
		},
		heard: d.lastHeard,
	}
	c.rewinds.cluster, c.rewinds.log, c.rewinds.told = o.Name, c.log, o.Rewound
	c.metrics.addRewinds(c.rewinds.counted)
	c.settle = sync.OnceFunc(func() { close(c.settled) })
	if err := c.assemble(o, cfg, client, tables); err != nil {
		c.metrics.unregister()
		return nil, fmt.Errorf("make cluster %s: %w", o.Name, err)
	}
	return c, nil
}

func (o Options) withDefaults() Options {
	if o.Name == "" {
		o.Name = DefaultName
	}
	if o.Registerer == nil {
		o.Registerer = prometheus.NewRegistry()
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Report == nil {
		o.Report = func(ObjectRef, Problem) {}
	}
	if o.Changed == nil {
		o.Changed = func() {}
	}
	if o.Rewound == nil {
		o.Rewound = func(Rewind) {}
	}
	return o
}

// readerConfig returns the configuration for following an API server, and who opens the connections that are
// made with it. A configuration that has a transport opens its own.
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

// assemble makes the feeds of the tables.
func (c *Cluster) assemble(o Options, cfg *rest.Config, client *http.Client, tables []AnyTable) error {
	for _, t := range tables {
		f, err := c.feedFor(t.reading().named(tables), o)
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
			p.state.changed, p.state.heard = func() { c.changed(p) }, c.heard
		}
		c.metrics.add(f)
	}
	c.standby.Store(o.Standby)
	if o.Standby {
		return nil
	}
	return c.metrics.register()
}

// ShowMetrics ends the standby of a cluster that was made with Standby, and registers its metrics, when no other
// cluster of the name has its own registered any more. After the end of Run no metrics are registered.
func (c *Cluster) ShowMetrics() error {
	c.standby.Store(false)
	return c.metrics.register()
}

// feedFor returns the feed of a resource, and makes it when there is none yet.
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
		foreign:    o.Untrusted,
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

// Run fills the tables and follows the API server until ctx ends. An API server
// that can't be reached is tried again for ever. Run is called once.
func (c *Cluster) Run(ctx context.Context) error {
	if c.ran.Swap(true) {
		return fmt.Errorf("run cluster %s: it ran before; make a new one", c.name)
	}
	defer c.metrics.unregister()
	defer c.disconnect()
	if c.foreign != nil {
		ctx = withoutLog(ctx)
	}
	var running sync.WaitGroup
	for _, f := range c.feeds {
		for _, p := range f.parts {
			running.Go(func() { p.run(ctx) })
		}
	}
	running.Wait()
	return nil
}

// Settled returns a channel that closes when each table has been filled once or, if its kind
// is optional, the cluster is known to lack the kind. The handlers have then been told about
// all objects. The channel stays closed.
func (c *Cluster) Settled() <-chan struct{} { return c.settled }

// Status returns the condition of each resource, in the order of the tables. Tables that
// share a watch have one condition.
func (c *Cluster) Status() []TableStatus {
	all := make([]TableStatus, len(c.feeds))
	for i, f := range c.feeds {
		all[i] = f.status()
	}
	return all
}

// changed is called when a part of a feed has changed its state.
func (c *Cluster) changed(p *part) {
	defer c.told()
	s, all := p.status(), p.feed.status()
	log := c.log.With("kind", all.Kind, "objects", all.Objects)
	if all.State == Synced {
		// Those of several namespaces that are in sync again are worth one line.
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
	case s.Reason == Terminating:
		warn("The definition of the kind is being removed, so its objects are deleted; until that is over, no records of theirs are", "resource", s.Resource.String())
	case s.missing():
		log.Info("The cluster doesn't have the kind, which is read as soon as its definition is installed", "resource", s.Resource.String())
	default:
		warn("The kind can't be read now, and is tried again every few seconds; what is known of it stays", "resource", s.Resource.String(), "reason", s.Reason, "err", s.Detail)
	}
	for _, f := range c.feeds {
		if !f.settled() {
			return
		}
	}
	c.settle()
}

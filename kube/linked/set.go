package linked

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/internal/channel"
	"github.com/signpostd/signpost/internal/objectmeta"
	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/kube/kinds"
)

// Options configure a [Set]. All fields but Logger are required.
type Options struct {
	// Config is the connection to our own API server, and Namespace the namespace of the Secrets.
	Config    *rest.Config
	Namespace string
	Catalog   Catalog
	// From selects the objects from which endpoints are read, for all clusters.
	From kinds.EndpointsFrom
	// Detours says which kubeconfigs are refused.
	Detours    Detours
	Registerer prometheus.Registerer
	// Report receives the problems of objects of all clusters.
	Report objectmeta.Report
	// Fixed receives the objects whose problems are fixed; it may be nil.
	Fixed objectmeta.Fixed
	// Events sends Events about Secrets. It must not block.
	Events Events
	// Logger defaults to slog.Default().
	Logger *slog.Logger
}

// Events sends Events to the API server, as record.EventRecorder does.
type Events interface {
	Event(object runtime.Object, eventType, reason, message string)
}

// Set is the linked clusters. Make it with [New].
type Set struct {
	options Options
	log     *slog.Logger
	secrets *kube.Cluster
	table   *kube.Table[secret]
	metrics *metrics
	// open is kube.New, and lostLimit the constant; tests replace them.
	open      func(kube.Options, ...kube.AnyTable) (*kube.Cluster, error)
	lostLimit time.Duration

	notified chan struct{}
	settled  chan struct{}
	running  sync.WaitGroup

	// good and inForce belong to the goroutine of Run. good has the last usable link of each Secret, by name.
	// inForce has the names of the Secrets whose links are in force, one per cluster.
	good    map[string]*link
	inForce map[string]bool

	mu       sync.Mutex
	clusters map[string]*cluster // by name
	bad      map[string]badSecret
}

// badSecret is a Secret that can't be used.
type badSecret struct {
	cluster, reason string
	since           time.Time
}

// New returns a set without clusters. It doesn't contact the API server. It fails if the Registerer refuses a
// metric.
func New(o Options) (*Set, error) {
	o.Logger = cmp.Or(o.Logger, slog.Default())
	s := &Set{
		options: o, log: o.Logger, open: kube.New, lostLimit: lostLimit, notified: make(chan struct{}, 1), settled: make(chan struct{}),
		clusters: map[string]*cluster{}, bad: map[string]badSecret{}, good: map[string]*link{},
	}
	s.table = secrets().Table(kube.WithHandler(func(_, _ *secret) { s.notify() }))
	var namespaces []string
	if o.Namespace != "" {
		namespaces = []string{o.Namespace}
	}
	var err error
	// There is no Registerer, because spec/destination.md §7.1 has no metrics for Secrets.
	s.secrets, err = kube.New(kube.Options{Config: o.Config, Namespaces: namespaces, Logger: o.Logger, Report: o.Report, Fixed: o.Fixed}, s.table)
	if err != nil {
		return nil, fmt.Errorf("read the links of other clusters: %w", err)
	}
	s.metrics = newMetrics(s)
	if err := o.Registerer.Register(s.metrics); err != nil {
		return nil, fmt.Errorf("register the metrics of linked clusters: %w", err)
	}
	return s, nil
}

// Settled returns a channel that is closed once the catalog knows which clusters are linked, or once the
// Secrets are known to be unreadable. The clusters themselves may not have been read by then.
func (s *Set) Settled() <-chan struct{} { return s.settled }

// Run follows the links and their clusters until ctx ends. The catalog then keeps the objects of the
// clusters. Run must be called once only.
func (s *Set) Run(ctx context.Context) error {
	defer s.options.Registerer.Unregister(s.metrics)
	defer s.running.Wait()
	s.running.Go(func() {
		if err := s.secrets.Run(ctx); err != nil {
			s.log.Error("The Secrets that link clusters can't be read", "err", err)
		}
	})
	select {
	case <-ctx.Done():
		return nil
	case <-s.secrets.Settled():
	}
	s.reconcile(ctx)
	close(s.settled)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.notified:
			s.reconcile(ctx)
		}
	}
}

func (s *Set) notify() { notify(s.notified) }

// reconcile starts and forgets clusters according to the Secrets. A cluster that was read with a deleted
// Secret is forgotten even if another Secret links it: that one starts afresh, so that deleted credentials
// are never used.
func (s *Set) reconcile(ctx context.Context) {
	all := s.table.List()
	wanted := s.review(all)
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, c := range s.clusters {
		if wanted[name] == nil || !c.linkedBy(all) {
			c.unlink()
		}
		if channel.IsClosed(c.done) {
			delete(s.clusters, name)
		}
	}
	for name, l := range wanted {
		switch c := s.clusters[name]; {
		case c == nil:
			s.clusters[name] = newCluster(ctx, s, l)
		case !c.unlinked:
			c.use(l)
		default:
			// The old cluster is still ending, and pokes the Set when it has ended.
		}
	}
}

// review returns the links in force by cluster name, and reports the Secrets that can't be used. It sorts the
// Secrets by precedence.
func (s *Set) review(all []*secret) map[string]*link {
	slices.SortFunc(all, s.before)
	wanted, good, problems := map[string]*link{}, map[string]*link{}, map[string]string{}
	for _, secret := range all {
		l, err := s.linkOf(secret)
		if err != nil {
			problems[secret.Name] = err.Error()
		}
		if l == nil {
			continue
		}
		good[secret.Name] = l
		if other := wanted[l.Cluster]; other != nil {
			problems[secret.Name] = fmt.Sprintf("the cluster %s is linked by the Secret %s already, which is older; delete one of them", l.Cluster, other.Name)
			continue
		}
		wanted[l.Cluster] = l
	}
	s.good, s.inForce = good, map[string]bool{}
	for _, l := range wanted {
		s.inForce[l.Name] = true
	}
	s.reportUnusable(all, problems)
	return wanted
}

// before orders Secrets by precedence: of several Secrets for one cluster, the oldest is in force. Of Secrets
// that were created in the same second, the one in force stays so.
func (s *Set) before(a, b *secret) int {
	inForce := func(x *secret) int {
		if s.inForce[x.Name] {
			return 0
		}
		return 1
	}
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(inForce(a), inForce(b)), cmp.Compare(a.Name, b.Name))
}

// linkOf returns the link in a Secret. If the Secret can't be used now, it returns the Secret's last usable
// link (nil if none), and an error that says what is wrong.
func (s *Set) linkOf(secret *secret) (*link, error) {
	last := s.good[secret.Name]
	if last != nil && *last.secret == *secret {
		return last, nil
	}
	l, err := newLink(secret, s.options.Detours)
	if err == nil {
		return l, nil
	}
	if last != nil && last.UID != secret.UID {
		last = nil // it was deleted, and created again
	}
	return last, err
}

// reportUnusable records which Secrets can't be used. It logs each new reason and sends an Event.
func (s *Set) reportUnusable(all []*secret, problems map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	bad := map[string]badSecret{}
	for _, secret := range all {
		reason, isBad := problems[secret.Name]
		if !isBad {
			continue
		}
		b := badSecret{cluster: secret.Cluster, reason: reason, since: time.Now()}
		if old, known := s.bad[secret.Name]; known && old.reason == reason {
			b.since = old.since
		} else {
			s.options.Report(objectmeta.Problem{Kind: "Secret", Namespace: secret.Namespace, Name: secret.Name, Reason: reason})
			s.event(secret, corev1.EventTypeWarning, "LinkUnusable", s.effect(secret)+reason)
		}
		bad[secret.Name] = b
	}
	s.reportFixed(bad)
	s.bad = bad
}

// reportFixed reports the Secrets that could not be used, and are fixed or deleted.
func (s *Set) reportFixed(bad map[string]badSecret) {
	for name := range s.bad {
		if _, still := bad[name]; !still && s.options.Fixed != nil {
			s.options.Fixed(objectmeta.Problem{Kind: "Secret", Namespace: s.options.Namespace, Name: name}, time.Now())
		}
	}
}

// effect starts the message about a Secret that can't be used.
func (s *Set) effect(unusable *secret) string {
	if s.inForce[unusable.Name] {
		return "this Secret can't be used, and its last usable version stays in force: "
	}
	return "this Secret links no cluster: "
}

func (s *Set) event(about *secret, eventType, reason, message string) {
	s.options.Events.Event(&corev1.ObjectReference{
		APIVersion: "v1", Kind: "Secret", Namespace: about.Namespace, Name: about.Name, UID: about.UID,
	}, eventType, reason, message)
}

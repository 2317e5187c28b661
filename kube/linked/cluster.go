package linked

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/kube/kinds"
)

// reviewTimeout bounds the requests about rights.
const reviewTimeout = 5 * time.Second

// errUnlinked is the cause with which the context of a cluster ends when its link is gone.
var errUnlinked = errors.New("the cluster is no longer linked")

// cluster follows one linked cluster in a goroutine of its own.
type cluster struct {
	name string
	set  *Set
	// links has the newest link, until the goroutine has taken it.
	links chan *link
	// poked has a token when a table has changed its state.
	poked chan struct{}
	// stop ends the goroutine, which closes done.
	stop context.CancelCauseFunc
	done chan struct{}
	// unlinked is true once the goroutine has been told to forget the cluster. Set.mu guards it.
	unlinked bool

	mu   sync.Mutex
	link *link
	// conn is nil until there is a connection.
	conn  *connection
	last  condition // the last one that was logged
	why   string    // the reason of the last condition, in words
	since time.Time
	// known is true once the cluster has been read completely, by any connection.
	known bool
}

// connection is the tables of a cluster that were made with one kubeconfig.
type connection struct {
	tables *kube.Cluster
	intake *intake
	// settled is that of tables, nil once it has closed and the goroutine has noted it.
	settled <-chan struct{}
	stop    context.CancelFunc
	ended   chan struct{}
}

// newCluster starts to follow the cluster of a link. When it returns, the catalog knows that the
// cluster is linked.
func newCluster(ctx context.Context, s *Set, l *link) *cluster {
	ctx, stop := context.WithCancelCause(ctx)
	c := &cluster{
		name: l.Cluster, set: s, links: make(chan *link, 1), poked: make(chan struct{}, 1), stop: stop, done: make(chan struct{}),
		link: l, since: time.Now(), last: condition{state: Connecting},
	}
	s.options.Catalog.Put(l.cluster())
	c.links <- l
	s.running.Go(func() { c.run(ctx) })
	return c
}

// unlink tells the goroutine to forget the cluster and to end. The caller holds Set.mu.
func (c *cluster) unlink() {
	c.unlinked = true
	c.stop(errUnlinked)
}

// use replaces the link of the cluster. Only the goroutine of the Set calls it.
func (c *cluster) use(l *link) {
	c.mu.Lock()
	old := c.link
	c.link = l
	c.mu.Unlock()
	if *old.secret == *l.secret {
		return
	}
	select {
	case <-c.links:
	default:
	}
	c.links <- l
}

func (c *cluster) run(ctx context.Context) {
	defer c.set.poke()
	defer close(c.done)
	var conn *connection
	var current *link
	for {
		var settled <-chan struct{}
		if conn != nil {
			settled = conn.settled
		}
		select {
		case <-ctx.Done():
			c.end(ctx, conn)
			return
		case l := <-c.links:
			conn = c.connect(ctx, conn, change{current, l})
			current = l
		case <-settled:
			conn.settled = nil
			conn.intake.complete()
			c.completed()
		case <-c.poked:
		}
		c.observe(ctx, conn)
	}
}

// end forgets the cluster, unless the process is what ends.
func (c *cluster) end(ctx context.Context, conn *connection) {
	if conn != nil {
		conn.intake.close()
	}
	if errors.Is(context.Cause(ctx), errUnlinked) {
		c.set.options.Catalog.Replace(c.name, nil)
		c.set.log.Info("Cluster is no longer linked", "cluster", c.name)
	}
	conn.end()
}

// end ends the connection, which may be nil, and returns when nothing is left of it.
func (conn *connection) end() {
	if conn == nil {
		return
	}
	conn.intake.close()
	conn.stop()
	<-conn.ended
}

// change is a change from a link, nil for none, to the next.
type change struct{ from, to *link }

// connect returns a connection for the new link. It keeps the old connection if the kubeconfig
// is the same.
func (c *cluster) connect(ctx context.Context, old *connection, by change) *connection {
	if old != nil && by.from.Kubeconfig == by.to.Kubeconfig {
		old.intake.rename(by.to.cluster())
		return old
	}
	old.end()
	conn := &connection{ended: make(chan struct{})}
	conn.intake = firstIntake(c.set.options.Catalog, by.to.cluster())
	if old != nil {
		conn.intake = nextIntake(c.set.options.Catalog, by.to.cluster())
	}
	o := c.set.options
	tables, err := kube.New(kube.Options{
		Config: by.to.config, Name: c.name, Registerer: o.Registerer, Logger: c.set.log, Changed: func() { poke(c.poked) },
		Report: kinds.ReportTo(o.Report, c.name),
	}, kinds.LinkedTables(conn.intake, o.From)...)
	if err != nil {
		c.set.log.Error("Linked cluster can't be read", "cluster", c.name, "error", err)
		c.connected(nil)
		return nil
	}
	conn.tables, conn.settled = tables, tables.Settled()
	ctx, conn.stop = context.WithCancel(ctx)
	c.set.running.Go(func() {
		defer close(conn.ended)
		if err := tables.Run(ctx); err != nil {
			c.set.log.Error("Linked cluster can't be read", "cluster", c.name, "error", err)
		}
	})
	c.connected(conn)
	return conn
}

func (c *cluster) connected(conn *connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conn = conn
}

func (c *cluster) completed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known = true
}

// condition returns the current condition. The caller holds the lock.
func (c *cluster) condition() condition {
	if c.conn == nil {
		return condition{state: Connecting}
	}
	p := nothing
	switch {
	case c.conn.intake.completed():
		p = complete
	case c.known:
		p = outdated
	}
	return conditionOf(c.conn.tables.Status(), p)
}

// observe logs the condition of the cluster and sends an Event when it has changed.
func (c *cluster) observe(ctx context.Context, conn *connection) {
	c.mu.Lock()
	last, now := c.last, c.condition()
	c.mu.Unlock()
	if last.state == now.state && last.reason == now.reason {
		return
	}
	why := explain(now.reason, now.detail)
	if now.reason == kube.Forbidden {
		why = c.denied(ctx, conn, why)
	}
	c.mu.Lock()
	if last.state != now.state {
		c.since = time.Now()
	}
	c.last, c.why = now, why
	l := c.link
	c.mu.Unlock()
	switch {
	case now.reason != "":
		c.set.log.Warn("Linked cluster can't be read now, retrying", "cluster", c.name, "state", now.state, "reason", why)
		c.set.event(l.secret, corev1.EventTypeWarning, "ClusterUnreadable", "cluster "+c.name+" at "+l.server()+" can't be read, retrying: "+why)
	case now.state == Synced:
		c.set.log.Info("Linked cluster is in sync", "cluster", c.name, "objects", now.objects)
		c.set.event(l.secret, corev1.EventTypeNormal, "ClusterSynced", "cluster "+c.name+" at "+l.server()+" is in sync")
	}
}

// denied names the rights that the credentials lack. If the API server doesn't tell, it returns
// otherwise.
func (c *cluster) denied(ctx context.Context, conn *connection, otherwise string) string {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	rights, err := conn.tables.Denied(ctx)
	if err != nil || len(rights) == 0 {
		return otherwise
	}
	return "forbidden: the credentials lack the rights to " + strings.Join(rights, ", ") + "; grant them in that cluster"
}

// status returns the condition as it is shown.
func (c *cluster) status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.condition()
	s := Status{
		Cluster: c.name, Secret: c.link.Name, State: now.state, Since: c.since, Server: c.link.server(),
		TrustDomain: c.link.TrustDomain, ClusterDomain: c.link.ClusterDomain, Objects: now.objects,
	}
	if now.state != Synced {
		s.Reason = explain(now.reason, now.detail)
	}
	if now.reason == c.last.reason && now.reason != "" {
		s.Reason = c.why
	}
	return s
}

// server returns the URL of the API server without any credentials in it.
func (l *link) server() string {
	u, err := url.Parse(l.config.Host)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// poke puts a token into a channel, unless there is one.
func poke(tokens chan struct{}) {
	select {
	case tokens <- struct{}{}:
	default:
	}
}

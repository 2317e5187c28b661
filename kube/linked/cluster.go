package linked

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/channel"
	"github.com/signpostd/signpost/kube"
)

const (
	// reviewTimeout bounds the access reviews of one explanation.
	reviewTimeout = 5 * time.Second
	// openFirst and openLimit bound the delay before a connection that could not be created is retried.
	openFirst, openLimit = time.Second, time.Minute
)

// errUnlinked is the cause with which a cluster's context ends when its link is deleted.
var errUnlinked = errors.New("the cluster is no longer linked")

// cluster follows one linked cluster in a goroutine of its own.
//
// It has at most two connections. The one in force has read everything once, and its objects are served. The
// pending one belongs to the newest kubeconfig: once it has read everything, it replaces the other. So
// credentials that don't work change nothing.
type cluster struct {
	name string
	set  *Set
	// links holds the newest link until the goroutine has taken it.
	links chan *link
	// notified holds a token if a table has changed its state.
	notified chan struct{}
	// stop ends the goroutine, which closes done.
	stop context.CancelCauseFunc
	done chan struct{}
	// unlinked is true once unlink was called. Set.mu guards it.
	unlinked bool

	// fed is true once a connection has passed objects to the catalog. Only the goroutine uses fed and again,
	// the timer for retrying a connection that could not be created.
	fed   bool
	again *time.Timer
	delay time.Duration

	mu   sync.Mutex
	link *link
	// inForce and pending are nil if there is none. Only the goroutine changes them and their fields, and may
	// read them without the lock.
	inForce, pending *connection
	// openError says why the newest link has no pending connection.
	openError string
	last      conditions // as last reported
	since     time.Time
}

// newCluster starts to follow the cluster of a link. When it returns, the catalog knows the cluster as
// linked.
func newCluster(ctx context.Context, s *Set, l *link) *cluster {
	ctx, stop := context.WithCancelCause(ctx)
	c := &cluster{
		name: l.Cluster, set: s, links: make(chan *link, 1), notified: make(chan struct{}, 1), stop: stop, done: make(chan struct{}),
		again: time.NewTimer(0), link: l, since: time.Now(), last: conditions{served: condition{state: Connecting}},
	}
	c.again.Stop()
	s.options.Catalog.Put(l.cluster())
	c.links <- l
	s.running.Go(func() { c.run(ctx) })
	return c
}

// unlink makes the goroutine forget the cluster and end. The caller holds Set.mu.
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

// linkedBy reports whether the Secrets of the newest link and of the connection in force exist and still name
// the cluster. A Secret that has become unusable counts, because its last usable version stays in force.
func (c *cluster) linkedBy(all []*secret) bool {
	named := func(l *link) bool {
		return slices.ContainsFunc(all, func(s *secret) bool { return s.UID == l.UID && s.Cluster == c.name })
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return named(c.link) && (c.inForce == nil || named(c.inForce.link))
}

func (c *cluster) run(ctx context.Context) {
	defer c.set.notify()
	defer close(c.done)
	defer c.again.Stop()
	var newest *link
	for {
		hopeless := c.hopelessSoon()
		select {
		case <-ctx.Done():
			c.end(ctx)
			return
		case newest = <-c.links:
			c.rename(newest)
			c.delay = 0
			c.follow(ctx, newest)
		case <-c.again.C:
			c.follow(ctx, newest)
		case <-c.readAll():
			if len(c.lacks()) == 0 {
				c.takeOver()
			}
		case <-c.notified:
		case <-hopeless:
		}
		c.observe(ctx)
	}
}

// end forgets the cluster, unless the whole process is ending.
func (c *cluster) end(ctx context.Context) {
	for _, conn := range []*connection{c.pending, c.inForce} {
		if conn != nil {
			conn.intake.close()
		}
	}
	if errors.Is(context.Cause(ctx), errUnlinked) {
		c.set.options.Catalog.Replace(c.name, nil)
		c.set.log.Info("Cluster is no longer linked", "cluster", c.name)
	}
	c.pending.end()
	c.inForce.end()
}

// rename gives the cluster the names in a link, such as its trust domain, independently of the connections.
func (c *cluster) rename(l *link) {
	if c.pending != nil {
		c.pending.intake.rename(l.cluster())
	}
	named := l.cluster()
	named.Synced = c.inForce != nil
	c.set.options.Catalog.Put(named)
}

// follow makes the connection of the newest link the one in force or the pending one.
func (c *cluster) follow(ctx context.Context, l *link) {
	c.again.Stop()
	switch {
	case c.inForce.uses(l):
		c.pending.end()
		c.connected(c.inForce, nil, "")
	case c.pending.uses(l):
	default:
		c.pending.end()
		conn, err := c.open(ctx, l, c.intake(l))
		if err != nil {
			c.delay = min(max(openFirst, 2*c.delay), openLimit)
			c.again.Reset(c.delay)
			c.connected(c.inForce, nil, err.Error())
			return
		}
		c.delay = 0
		c.connected(c.inForce, conn, "")
	}
}

// intake returns the intake of the next connection. Only the very first connection passes objects on before
// it is complete: later ones would mix theirs with those in the catalog.
func (c *cluster) intake(l *link) *intake {
	in := &intake{catalog: c.set.options.Catalog, cluster: l.cluster()}
	if c.fed {
		in.kept = map[catalog.ID]catalog.Object{} // they will replace those in the catalog
	}
	c.fed = true
	return in
}

// readAll returns a channel that is closed once the pending connection has read everything that it
// can; nil if there is none, or if that is known to be less than what the connection in force has.
func (c *cluster) readAll() <-chan struct{} {
	if len(c.lacks()) > 0 {
		return nil
	}
	return c.pending.settled()
}

// hopelessSoon notes how the connection in force fails while the pending one works. If both fail, their API
// server may come back. If the pending connection waits for the one in force to be hopeless, hopelessSoon
// returns a channel with a value when it is; else nil.
func (c *cluster) hopelessSoon() <-chan time.Time {
	if c.inForce == nil || c.pending == nil {
		return nil
	}
	now, fails := time.Now(), working
	if works(c.pending.tables.Status()) {
		fails = failureOf(c.inForce.tables.Status())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inForce.noteFailure(fails, now)
	if len(c.lacks()) == 0 || fails == working {
		return nil
	}
	return time.After(c.inForce.hopelessIn(now))
}

// lacks returns what the pending connection can't read, and the one in force has.
func (c *cluster) lacks() (kinds []string) {
	if c.pending == nil || c.inForce == nil || !channel.IsClosed(c.pending.settled()) {
		return nil
	}
	return c.pending.lacks(c.inForce, time.Now())
}

// takeOver puts the pending connection in force, because it has read everything.
func (c *cluster) takeOver() {
	// Late events of the old connection must not be mixed with the new objects.
	if c.inForce != nil {
		c.inForce.intake.close()
	}
	c.pending.intake.complete()
	c.inForce.end()
	if err := c.pending.tables.ShowMetrics(); err != nil {
		c.set.log.Error("Linked cluster has no metrics", "cluster", c.name, "err", err)
	}
	c.connected(c.pending, nil, "")
	// The Secret of this connection may have been deleted since the Set last reconciled.
	c.set.notify()
}

func (c *cluster) connected(inForce, pending *connection, openError string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inForce, c.pending, c.openError = inForce, pending, openError
}

// conditions returns the present conditions of the cluster. The caller holds the lock.
func (c *cluster) conditions() conditions {
	var now conditions
	if c.pending != nil {
		now.pending = conditionOf(c.pending.tables.Status(), Connecting)
		if kinds := c.lacks(); len(kinds) > 0 && now.pending.reason == "" {
			now.pending.detail = "it can't read " + strings.Join(kinds, ", ") + ", which the previous one has read: grant that in the cluster"
		}
	} else {
		now.pending = condition{state: Connecting, detail: c.openError}
	}
	now.isPending = c.pending != nil || c.openError != ""
	now.served = now.pending
	if c.inForce != nil {
		now.served = conditionOf(c.inForce.tables.Status(), Synced)
		now.server = c.inForce.link.server()
	}
	return now
}

// observe logs a changed condition of the cluster and sends an Event.
func (c *cluster) observe(ctx context.Context) {
	c.mu.Lock()
	last, now, l := c.last, c.conditions(), c.link
	c.mu.Unlock()
	if now.sameAs(last) {
		return
	}
	now.served.why = c.explain(ctx, cmp.Or(c.inForce, c.pending), now.served)
	now.pending.why = c.explain(ctx, c.pending, now.pending)
	c.mu.Lock()
	if last.served.state != now.served.state {
		c.since = time.Now()
	}
	c.last = now
	c.mu.Unlock()
	c.reportServed(l, last, now)
	c.reportPending(l, last, now)
}

// explain says why a connection is in its condition. If access is forbidden, it asks the API server which
// rights are missing.
func (c *cluster) explain(ctx context.Context, conn *connection, now condition) string {
	if now.reason == kube.Forbidden && conn != nil {
		return conn.denied(ctx, now.text())
	}
	return now.text()
}

// reportServed reports a change of what is served.
func (c *cluster) reportServed(l *link, last, now conditions) {
	changed, tookOver := !now.served.sameAs(last.served), last.isPending && !now.isPending
	server := cmp.Or(now.server, l.server())
	switch {
	case changed && now.served.failing():
		c.set.log.Warn("Linked cluster can't be read, retrying", "cluster", c.name, "state", now.served.state, "reason", now.served.why)
		c.set.event(l.secret, corev1.EventTypeWarning, "ClusterUnreadable", "cluster "+c.name+" at "+server+" can't be read, retrying: "+now.served.why)
	case (changed || tookOver) && now.served.state == Synced:
		c.set.log.Info("Linked cluster is in sync", "cluster", c.name, "server", server, "objects", now.served.objects)
		c.set.event(l.secret, corev1.EventTypeNormal, "ClusterSynced", "cluster "+c.name+" at "+server+" is in sync")
	}
}

// reportPending reports a new kubeconfig that doesn't work while another is in force.
func (c *cluster) reportPending(l *link, last, now conditions) {
	if now.server == "" || !now.isPending || !now.pending.failing() || last.isPending && last.server != "" && now.pending.sameAs(last.pending) {
		return
	}
	c.set.log.Warn("The new kubeconfig of a linked cluster doesn't work and is retried; the previous one stays in force", "cluster", c.name, "server", l.server(), "reason", now.pending.why)
	c.set.event(l.secret, corev1.EventTypeWarning, "CredentialsUnusable", "cluster "+c.name+" at "+l.server()+": "+staysInForce+now.pending.why)
}

func (c *cluster) status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.conditions()
	now.keepExplanations(c.last)
	return Status{
		Cluster: c.name, Secret: c.link.Name, State: now.served.state, Since: c.since, Server: cmp.Or(now.server, c.link.server()),
		Reason: now.reason(), Pending: now.isPending && now.server != "",
		TrustDomain: c.link.TrustDomain, ClusterDomain: c.link.ClusterDomain, Objects: now.served.objects,
	}
}

// notify puts a token into a channel, unless it holds one.
func notify(tokens chan struct{}) {
	select {
	case tokens <- struct{}{}:
	default:
	}
}

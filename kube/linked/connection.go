package linked

import (
	"context"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/kube/kinds"
)

// connection is the tables of a cluster that were made with one link. Its goroutines end with it.
type connection struct {
	link   *link
	tables *kube.Cluster
	intake *intake
	stop   context.CancelFunc
	ended  chan struct{}
	// failure is how the connection fails while the pending one works, and failingSince since when. The
	// cluster's lock guards them.
	failure      failure
	failingSince time.Time
	lostLimit    time.Duration
}

// failure is how a connection fails.
type failure int

const (
	working failure = iota
	lost            // no required table can be read
	refused         // the API server refuses the credentials
)

const (
	// refusedLimit is how long an API server must refuse credentials before they count as refused. It
	// may refuse them for seconds while it starts.
	refusedLimit = 10 * time.Second
	// lostLimit is how long a connection must be lost, while that of the new kubeconfig works, before the API
	// server at its address counts as gone.
	lostLimit = 5 * time.Minute
)

// open returns a connection for a link, whose objects go to the intake.
func (c *cluster) open(ctx context.Context, l *link, in *intake) (*connection, error) {
	o := c.set.options
	// All connections start on standby; the one in force shows its metrics.
	tables, err := c.set.open(kube.Options{
		Config: l.configFor(o.Config), Name: c.name, Registerer: o.Registerer, Standby: true, Untrusted: &kube.UntrustedLimits{},
		Logger: c.set.log.With("server", l.server()), Changed: func() { notify(c.notified) }, Report: o.Report, Fixed: o.Fixed,
	}, kinds.LinkedTables(in, o.From)...)
	if err != nil {
		return nil, err
	}
	conn := &connection{link: l, tables: tables, intake: in, ended: make(chan struct{}), lostLimit: c.set.lostLimit}
	ctx, conn.stop = context.WithCancel(ctx)
	c.set.running.Go(func() {
		defer close(conn.ended)
		if err := tables.Run(ctx); err != nil {
			c.set.log.Error("Linked cluster can't be read", "cluster", c.name, "err", err)
		}
	})
	return conn, nil
}

// end ends the connection, which may be nil, and waits for its goroutines.
func (conn *connection) end() {
	if conn == nil {
		return
	}
	conn.intake.close()
	conn.stop()
	<-conn.ended
}

// settled returns a channel that is closed once the connection has read everything. A nil connection returns
// nil.
func (conn *connection) settled() <-chan struct{} {
	if conn == nil {
		return nil
	}
	return conn.tables.Settled()
}

// lacks returns the optional kinds that another connection has read and this one can't read. Their objects
// would disappear if this connection replaced the other one. Kinds that the cluster no longer has don't
// count. If the other connection is hopeless, nothing counts, because its objects will never change again.
func (conn *connection) lacks(other *connection, now time.Time) (kinds []string) {
	if other.hopelessIn(now) == 0 {
		return nil
	}
	return lacking(conn.tables.Status(), other.tables.Status())
}

// lacking returns the optional kinds that other tables have been filled with and these can't.
func lacking(tables, others []kube.TableStatus) (kinds []string) {
	read := map[string]kube.TableStatus{}
	for _, t := range tables {
		read[t.Kind] = t
	}
	for _, t := range others {
		if now := read[t.Kind]; !t.Required && t.Filled && !now.Filled && !now.Absent() {
			kinds = append(kinds, t.Resource.String())
		}
	}
	return kinds
}

// noteFailure notes how the connection fails.
func (conn *connection) noteFailure(f failure, now time.Time) {
	if conn.failure != f {
		conn.failure, conn.failingSince = f, now
	}
}

// hopelessIn returns how long the connection must continue to fail until it counts as hopeless: zero if it
// already does, and forever if it doesn't fail.
func (conn *connection) hopelessIn(now time.Time) time.Duration {
	switch failing := now.Sub(conn.failingSince); conn.failure {
	case refused:
		return max(0, refusedLimit-failing)
	case lost:
		return max(0, conn.lostLimit-failing)
	default:
		return forever
	}
}

const forever = time.Duration(math.MaxInt64)

// failureOf returns how a connection fails, according to its required tables.
func failureOf(tables []kube.TableStatus) failure {
	waiting, required := 0, 0
	for _, t := range tables {
		switch {
		case !t.Required:
			continue
		case t.State == kube.Waiting && (t.Reason == kube.Unauthorized || t.Reason == kube.Forbidden):
			return refused
		case t.State == kube.Waiting:
			waiting++
		}
		required++
	}
	if waiting == required {
		return lost
	}
	return working
}

// works reports whether all required tables are followed.
func works(tables []kube.TableStatus) bool {
	return !slices.ContainsFunc(tables, func(t kube.TableStatus) bool { return t.Required && t.State != kube.Synced })
}

// uses reports whether the connection, which may be nil, was made with the kubeconfig of a link.
func (conn *connection) uses(l *link) bool {
	return conn != nil && (conn.link.Kubeconfig == l.Kubeconfig || reflect.DeepEqual(conn.link.config, l.config))
}

// denied names the rights that the credentials lack. If the API server doesn't say, it returns otherwise.
func (conn *connection) denied(ctx context.Context, otherwise string) string {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	rights, err := conn.tables.Denied(ctx)
	if err != nil || len(rights) == 0 {
		return otherwise
	}
	return "forbidden: the credentials lack the rights to " + strings.Join(rights, ", ") + "; grant them in that cluster"
}

package linked

import (
	"context"
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
	// refusedSince is since when the API server has refused the credentials; zero if it doesn't. The cluster's lock guards
	// it.
	refusedSince time.Time
}

// refusedLimit is how long an API server must refuse credentials before they count as refused. It may refuse them for
// seconds while it starts.
const refusedLimit = 10 * time.Second

// open returns a connection for a link, whose objects go to the intake.
func (c *cluster) open(ctx context.Context, l *link, in *intake) (*connection, error) {
	o := c.set.options
	// All connections start on standby; the one in force shows its metrics.
	tables, err := c.set.open(kube.Options{
		Config: l.configFor(o.Config), Name: c.name, Registerer: o.Registerer, Standby: true, Untrusted: &kube.UntrustedLimits{},
		Logger: c.set.log.With("server", l.server()), Changed: func() { notify(c.notified) }, Report: kinds.ReportTo(o.Report, c.name),
	}, kinds.LinkedTables(in, o.From)...)
	if err != nil {
		return nil, err
	}
	conn := &connection{link: l, tables: tables, intake: in, ended: make(chan struct{})}
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

// lacks returns the optional kinds that another connection has read and this one can't, whose objects would vanish if it took
// the place of the other one. A kind that the cluster no longer has isn't lacking. Nothing is, once the credentials of the
// other one are refused: its objects stay as they are for ever, while an API server that can't be reached may come back.
func (conn *connection) lacks(other *connection, now time.Time) (kinds []string) {
	if other.refused(now) {
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

// noteRefusal notes whether the API server refuses the credentials. The connection may be nil. The caller holds the cluster's
// lock.
func (conn *connection) noteRefusal(now time.Time) {
	switch {
	case conn == nil:
	case !refusal(conn.tables.Status()):
		conn.refusedSince = time.Time{}
	case conn.refusedSince.IsZero():
		conn.refusedSince = now
	}
}

// refusal reports whether required tables aren't filled because the API server refuses the credentials.
func refusal(tables []kube.TableStatus) bool {
	return slices.ContainsFunc(tables, func(t kube.TableStatus) bool {
		return t.Required && t.State == kube.Waiting && (t.Reason == kube.Unauthorized || t.Reason == kube.Forbidden)
	})
}

// refused reports whether the API server has refused the credentials for refusedLimit. The caller holds the cluster's lock, or
// is its goroutine.
func (conn *connection) refused(now time.Time) bool {
	return !conn.refusedSince.IsZero() && now.Sub(conn.refusedSince) >= refusedLimit
}

// uses reports whether the connection, which may be nil, was made with the kubeconfig of a link.
func (conn *connection) uses(l *link) bool {
	return conn != nil && conn.link.Kubeconfig == l.Kubeconfig
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

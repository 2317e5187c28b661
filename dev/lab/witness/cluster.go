package witness

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/signpostd/signpost/dev/lab/history"
	"github.com/signpostd/signpost/internal/pause"
)

const (
	// pageSize is the number of objects in a page of a list.
	pageSize = 500
	// readWithin is the time limit of a read, because etcd may be paused.
	readWithin = 5 * time.Second
	// retryAfter is the pause before a retry.
	retryAfter = 100 * time.Millisecond
	// Pings detect a dead connection. etcd refuses more than one in five seconds.
	etcdPingInterval = 10 * time.Second
	etcdPingWithin   = 3 * time.Second
	// The witness must reconnect sooner than the API server, or it would record changes after others have
	// reacted to them.
	etcdRedialWithin = 200 * time.Millisecond
)

// ClusterConfig is the configuration of a Cluster.
type ClusterConfig struct {
	// Etcd is the URL of etcd, as [etcdctl.URL] returns it.
	Etcd string
	// Namespaces are the namespaces whose objects are recorded. Nodes are always recorded.
	Namespaces []string
}

// Cluster records all objects that exist when Run begins, each with the revision that wrote it, and then each
// revision of the objects in etcd, in order.
type Cluster struct {
	config   ClusterConfig
	recorder Recorder
	client   *clientv3.Client
	stored   stored
	page     int64 // number of objects per page
	progress *progress
	restores chan restore

	// The other fields belong to Run.

	// latest has the last version of each existing recorded object, by key.
	latest map[string]history.Object
	// offset is added to the revisions of etcd in the history.
	offset int64
}

// restore is a call of Restore.
type restore struct {
	ctx     context.Context
	replace func(context.Context) error
	done    chan error
}

// NewCluster returns the witness of a cluster. Run connects it.
func NewCluster(config ClusterConfig, recorder Recorder) (*Cluster, error) {
	client, err := clientv3.New(clientv3.Config{
		Endpoints: []string{config.Etcd}, DialKeepAliveTime: etcdPingInterval, DialKeepAliveTimeout: etcdPingWithin, Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{
			MinConnectTimeout: etcdPingWithin,
			Backoff:           backoff.Config{BaseDelay: retryAfter, Multiplier: 2, MaxDelay: etcdRedialWithin},
		})},
	})
	if err != nil {
		return nil, fmt.Errorf("watch etcd: %w", err)
	}
	return &Cluster{
		config: config, recorder: recorder, client: client, stored: newStored(config.Namespaces), page: pageSize, progress: newProgress(),
		restores: make(chan restore), latest: map[string]history.Object{},
	}, nil
}

// Run records until ctx ends. It returns an error if there would be a gap: a revision was compacted before it
// was read, or a stored value is invalid.
func (c *Cluster) Run(ctx context.Context) error {
	defer c.client.Close()
	err := c.run(ctx)
	if ctx.Err() != nil {
		err = nil
	}
	c.progress.end(err)
	return err
}

// Revision returns the last revision up to which everything is recorded, or zero.
func (c *Cluster) Revision() int64 { return c.progress.get() }

// WaitFor waits until everything up to a revision is recorded, such as the resourceVersion of an object or a
// list. It returns an error if ctx or Run ends before that.
func (c *Cluster) WaitFor(ctx context.Context, revision int64) error {
	if err := c.progress.wait(ctx, func(at int64) bool { return at >= revision }); err != nil {
		return fmt.Errorf("wait for revision %d of etcd, at %d: %w", revision, c.Revision(), err)
	}
	return nil
}

// Restore calls replace, which replaces the data of etcd and returns when etcd serves them, and records the
// differences. In the history, their revision is above all earlier ones. Nothing may be written to etcd
// meanwhile, and all earlier writes must be recorded (WaitFor). If Restore fails, Run fails too.
func (c *Cluster) Restore(ctx context.Context, replace func(context.Context) error) error {
	r := restore{ctx, replace, make(chan error, 1)}
	select {
	case c.restores <- r:
		return <-r.done
	case <-ctx.Done():
		return fmt.Errorf("restore etcd: wait for its witness: %w", context.Cause(ctx))
	}
}

func (c *Cluster) run(ctx context.Context) error {
	last, err := c.readAll(ctx)
	if err != nil {
		return err
	}
	c.progress.reach(last)
	for {
		if last, err = c.follow(ctx, last); err != nil {
			return err
		}
		if pause.For(ctx, retryAfter) != nil {
			return nil
		}
	}
}

// readAll records all stored objects in the order of their revisions, and returns the revision of the list.
func (c *Cluster) readAll(ctx context.Context) (revision int64, err error) {
	objects, revision, err := c.list(ctx)
	if err != nil {
		return 0, err
	}
	byRevision := func(a, b string) int { return cmp.Compare(objects[a].Revision, objects[b].Revision) }
	for _, key := range slices.SortedFunc(maps.Keys(objects), byRevision) {
		c.record(key, *objects[key])
	}
	return revision, nil
}

// list returns the stored objects to record, by key, and the revision of the list.
func (c *Cluster) list(ctx context.Context) (objects map[string]*history.Object, revision int64, err error) {
	objects = map[string]*history.Object{}
	end := clientv3.GetPrefixRangeEnd(prefix)
	for key, more := prefix, true; more; {
		page, err := c.read(ctx, key, clientv3.WithRange(end), clientv3.WithLimit(c.page), clientv3.WithRev(revision))
		if err != nil {
			return nil, 0, fmt.Errorf("read what etcd stores: %w", err)
		}
		if revision == 0 {
			revision = page.Header.Revision
		}
		for _, kv := range page.Kvs {
			object, err := c.object(mvccpb.PUT, kv)
			if err != nil {
				return nil, 0, err
			}
			if object != nil {
				objects[string(kv.Key)] = object
			}
			key = string(kv.Key) + "\x00"
		}
		more = page.More && len(page.Kvs) > 0
	}
	return objects, revision, nil
}

// record adds a version of an object, with etcd's revision, to the history.
func (c *Cluster) record(key string, o history.Object) {
	if o.Deleted {
		delete(c.latest, key)
	} else {
		c.latest[key] = o
	}
	o.Revision += c.offset
	c.recorder.Record(history.Entry{Object: &o})
}

// restored replaces the data of etcd, and records the differences as the next revision of the history. It
// returns the revision of etcd.
func (c *Cluster) restored(r restore, last int64) (int64, error) {
	if err := r.replace(r.ctx); err != nil {
		return last, err
	}
	objects, revision, err := c.list(r.ctx)
	if err != nil {
		return last, err
	}
	c.offset += last + 1 - revision
	for _, key := range slices.Sorted(maps.Keys(c.latest)) {
		if gone := c.latest[key]; objects[key] == nil {
			gone.Revision, gone.Content, gone.Deleted, gone.Restored = revision, nil, true, true
			c.record(key, gone)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(objects)) {
		if before, existed := c.latest[key]; !existed || !bytes.Equal(before.Content, objects[key].Content) {
			o := *objects[key]
			o.Revision, o.Restored = revision, true
			c.record(key, o)
		}
	}
	c.progress.reach(revision)
	return revision, nil
}

// read retries until etcd responds.
func (c *Cluster) read(ctx context.Context, key string, options ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	for {
		try, cancel := context.WithTimeout(ctx, readWithin)
		answer, err := c.client.Get(try, key, options...)
		cancel()
		if err == nil || errors.Is(err, rpctypes.ErrCompacted) {
			return answer, err
		}
		c.progress.fail(err)
		if pause.For(ctx, retryAfter) != nil {
			return nil, err
		}
	}
}

// follow records the changes after a revision until a watch ends. The client resumes the watch while etcd is
// unreachable. follow returns the last recorded revision. The watch is on all keys, also those that aren't
// recorded, so that each revision arrives and a gap is detected.
func (c *Cluster) follow(ctx context.Context, last int64) (int64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watch := c.client.Watch(ctx, "", clientv3.WithPrefix(), clientv3.WithRev(last+1))
	for {
		var answer clientv3.WatchResponse
		select {
		case r := <-c.restores:
			cancel()
			last, err := c.restored(r, last)
			r.done <- err
			return last, err
		case next, open := <-watch:
			if !open {
				return last, nil
			}
			answer = next
		}
		if answer.CompactRevision != 0 {
			return last, fmt.Errorf("watch etcd: the revisions %d to %d were compacted before they were read", last+1, answer.CompactRevision-1)
		}
		if err := answer.Err(); err != nil {
			c.progress.fail(err)
			return last, nil
		}
		var err error
		if last, err = c.recordAll(last, answer.Events); err != nil {
			return last, err
		}
	}
}

// recordAll records the events of a response, which has all events of each of its revisions.
func (c *Cluster) recordAll(last int64, events []*clientv3.Event) (int64, error) {
	before := last
	for _, event := range events {
		revision := event.Kv.ModRevision
		if revision <= before {
			continue // recorded before the watch was resumed
		}
		if revision > last+1 {
			return last, fmt.Errorf("watch etcd: revision %d came after %d: those between are missing", revision, last)
		}
		last = revision
		object, err := c.object(event.Type, event.Kv)
		if err != nil {
			return last, err
		}
		if object != nil {
			c.record(string(event.Kv.Key), *object)
		}
	}
	if last > before {
		c.progress.reach(last)
	}
	return last, nil
}

// object returns the object after an event, or nil if it isn't recorded.
func (c *Cluster) object(what mvccpb.Event_EventType, kv *mvccpb.KeyValue) (*history.Object, error) {
	object, wanted := c.stored.object(string(kv.Key))
	if !wanted {
		return nil, nil
	}
	object.Revision, object.Deleted = kv.ModRevision, what == mvccpb.DELETE
	if !object.Deleted {
		var err error
		if object.Content, err = content(kv.Value); err != nil {
			return nil, fmt.Errorf("understand what etcd stores at %s, revision %d: %w", kv.Key, kv.ModRevision, err)
		}
	}
	return &object, nil
}

package crd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/workqueue"

	"github.com/signpostd/signpost/dns/source"
)

// First and longest delay between two attempts to write a status.
const (
	retryFirst = 100 * time.Millisecond
	retryLimit = 5 * time.Minute
)

var errNotOpen = errors.New("write the status of DNSEndpoints: call Open first")

// WriteStatus writes status.observedGeneration and the conditions of the objects of the source,
// until ctx ends: first for all objects, then for each one that changes, or whose records do. It
// needs the rights to get the objects and to update their status. Call it while the process leads,
// not in a dry run, with a client that stops when the leadership ends. It may be called again
// afterwards. Failures are logged and retried. The error means that it was called at the wrong
// time.
func (c *Config) WriteStatus(ctx context.Context, client dynamic.Interface) error {
	if c.opened == nil {
		return errNotOpen
	}
	return c.opened.writeStatus(ctx, client)
}

// WriteStatusOnce is WriteStatus for the existing objects, without conditions. It tries each object
// once. The table may have stopped following changes.
func (c *Config) WriteStatusOnce(ctx context.Context, client dynamic.Interface) error {
	if c.opened == nil {
		return errNotOpen
	}
	return c.opened.writeStatusOnce(ctx, client)
}

// status is the queue of objects whose status has to be written.
type status struct {
	mu    sync.Mutex
	queue workqueue.TypedRateLimitingInterface[source.Key]
}

// enqueue queues an object if its status is out of date. It ignores nil.
func (s *status) enqueue(e *endpoint) {
	if e == nil || !e.outdated() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queue != nil {
		s.queue.Add(e.Key)
	}
}

func (e *endpoint) outdated() bool { return e.Selected && e.observed != e.generation }

// begin returns a new queue, or an error if there is one already.
func (s *status) begin() (workqueue.TypedRateLimitingInterface[source.Key], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queue != nil {
		return nil, errors.New("write the status of DNSEndpoints: another call is doing that")
	}
	s.queue = workqueue.NewTypedRateLimitingQueue(
		workqueue.NewTypedItemExponentialFailureRateLimiter[source.Key](retryFirst, retryLimit),
	)
	return s.queue, nil
}

func (s *status) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue.ShutDown()
	s.queue = nil
}

func (s *endpoints) writeStatus(ctx context.Context, client dynamic.Interface) error {
	queue, err := s.status.begin()
	if err != nil {
		return err
	}
	defer s.status.end()
	stop := context.AfterFunc(ctx, queue.ShutDown)
	defer stop()
	c := s.newConditions()
	var following sync.WaitGroup
	defer following.Wait()
	following.Go(func() { s.follow(ctx, queue) })
	s.enqueueAll(queue)
	for {
		key, over := queue.Get()
		if over {
			return nil
		}
		switch err := s.observe(ctx, client, c, key, queue.NumRequeues(key)); {
		case err == nil || ctx.Err() != nil:
			queue.Forget(key)
		case errors.Is(err, errUnknownOutcome), apierrors.IsConflict(err):
			// Another writer has just changed the object, perhaps without a change that the table sees.
			queue.AddRateLimited(key)
		default:
			s.logFailure(ctx, key, "trying again later", err)
			queue.AddRateLimited(key)
		}
		queue.Done(key)
	}
}

// enqueueAll queues all objects whose status may be out of date.
func (s *endpoints) enqueueAll(queue workqueue.TypedRateLimitingInterface[source.Key]) {
	for _, e := range s.table.List() {
		if e.Selected && (s.outcomes != nil || e.outdated()) {
			queue.Add(e.Key)
		}
	}
}

// follow queues the objects whose outcome may have changed.
func (s *endpoints) follow(ctx context.Context, queue workqueue.TypedRateLimitingInterface[source.Key]) {
	if s.outcomes == nil {
		return
	}
	err := s.outcomes.Follow(ctx, func(keys []source.Key) {
		if keys == nil {
			s.enqueueAll(queue)
		}
		for _, key := range keys {
			queue.Add(key)
		}
	})
	if err != nil && ctx.Err() == nil {
		s.reader.Log.WarnContext(ctx, "Conditions are no longer written", "kind", s.kind.Kind, "err", err)
	}
}

func (s *endpoints) writeStatusOnce(ctx context.Context, client dynamic.Interface) error {
	for _, e := range s.table.List() {
		if !e.outdated() {
			continue
		}
		if err := s.observe(ctx, client, nil, e.Key, 0); err != nil {
			s.logFailure(ctx, e.Key, "leaving it", err)
		}
	}
	return nil
}

func (s *endpoints) logFailure(ctx context.Context, key source.Key, then string, err error) {
	s.reader.Log.WarnContext(ctx, "The status of an object can't be written, "+then, "kind", s.kind.Kind, "namespace", key.Namespace, "name", key.Name, "err", err)
}

// observe writes the table's generation and the conditions into the status of an object. It writes
// nothing if the status has them already.
func (s *endpoints) observe(ctx context.Context, client dynamic.Interface, c *conditions, key source.Key, retries int) error {
	e := s.table.Get(key.Namespace, key.Name)
	if e == nil || !e.Selected {
		return nil
	}
	wanted, unknown := c.wanted(ctx, e)
	if !e.outdated() {
		switch {
		case unknown != nil:
			return unknown
		case wanted == nil || e.conditions == digest(wanted):
			return nil
		case e.conditions != 0 && transient(wanted, retries):
			return errUnknownOutcome
		}
		if err := c.limiter.Wait(ctx); err != nil {
			return err
		}
	}
	if err := s.write(ctx, client, e, wanted, c); err != nil {
		return err
	}
	return unknown
}

func (s *endpoints) write(ctx context.Context, client dynamic.Interface, e *endpoint, wanted []metav1.Condition, c *conditions) error {
	objects := client.Resource(s.resource()).Namespace(e.Key.Namespace)
	obj, err := objects.Get(ctx, e.Key.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("get %s %s: %w", s.kind.Kind, e.Key, err)
	}
	if obj.GetUID() != e.UID {
		return nil // the object was recreated, and its table event follows
	}
	changed := setConditions(obj, wanted)
	if changed = setObserved(obj, e.generation) || changed; !changed {
		return nil
	}
	written, err := objects.UpdateStatus(ctx, obj, metav1.UpdateOptions{})
	switch {
	case err == nil && len(wanted) > 0 && len(conditionsOf(written)) == 0:
		c.pruned = true
		s.reader.Log.InfoContext(ctx, "Conditions of objects can't be written, because their definition has no status.conditions: apply deploy/crds", "kind", s.kind.Kind)
		return nil
	case err == nil:
		return nil
	case apierrors.IsNotFound(err):
		return fmt.Errorf("update status of %s %s: %w; add the status subresource to its CRD", s.kind.Kind, e.Key, err)
	default:
		return fmt.Errorf("update status of %s %s: %w; allow to update %s/status", s.kind.Kind, e.Key, err, s.resource().Resource)
	}
}

// setObserved sets the generation in the status and keeps everything else in it. It reports whether
// it has changed. A malformed status is replaced.
func setObserved(obj *unstructured.Unstructured, generation int64) bool {
	fields, ok := obj.Object["status"].(map[string]any)
	if !ok {
		fields = map[string]any{}
	}
	before, _, _ := unstructured.NestedInt64(obj.Object, "status", "observedGeneration")
	fields["observedGeneration"] = generation
	obj.Object["status"] = fields
	return before != generation
}

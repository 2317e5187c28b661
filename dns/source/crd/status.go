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

// The first and the longest delay between two attempts to write a status.
const (
	retryFirst = 100 * time.Millisecond
	retryLimit = 5 * time.Minute
)

var errNotOpen = errors.New("write the status of DNSEndpoints: call Open first")

// WriteStatus writes status.observedGeneration of the objects of the source, until ctx ends:
// first of all objects, and then of each one that changes. It needs the permissions to get the
// objects and to update their status. Call it while the process leads, not in a dry run, with
// a client that stops when the leadership ends. It may be called again afterwards. Failures
// are logged and tried again later. The error is that it was called at the wrong time.
func (c *Config) WriteStatus(ctx context.Context, client dynamic.Interface) error {
	if c.opened == nil {
		return errNotOpen
	}
	return c.opened.writeStatus(ctx, client)
}

// WriteStatusOnce is WriteStatus for the objects that there are now. It tries each object
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

// note queues an object if its status is out of date. It ignores nil.
func (s *status) note(e *endpoint) {
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
	for _, e := range s.table.List() {
		s.status.note(e)
	}
	for {
		key, over := queue.Get()
		if over {
			return nil
		}
		switch err := s.observe(ctx, client, key); {
		case err == nil || ctx.Err() != nil:
			queue.Forget(key)
		case apierrors.IsConflict(err):
			// Somebody else has just written the object, perhaps without a change that the
			// table would see.
			queue.AddRateLimited(key)
		default:
			s.unwritten(ctx, key, "trying again later", err)
			queue.AddRateLimited(key)
		}
		queue.Done(key)
	}
}

func (s *endpoints) writeStatusOnce(ctx context.Context, client dynamic.Interface) error {
	for _, e := range s.table.List() {
		if !e.outdated() {
			continue
		}
		if err := s.observe(ctx, client, e.Key); err != nil {
			s.unwritten(ctx, e.Key, "leaving it", err)
		}
	}
	return nil
}

func (s *endpoints) unwritten(ctx context.Context, key source.Key, then string, err error) {
	s.log.WarnContext(ctx, "status of an object can't be written, "+then, "kind", s.kind.Kind, "object", key.String(), "error", err)
}

// observe writes into the status of an object which generation of it the table has.
func (s *endpoints) observe(ctx context.Context, client dynamic.Interface, key source.Key) error {
	e := s.table.Get(key.Namespace, key.Name)
	if e == nil || !e.outdated() {
		return nil
	}
	objects := client.Resource(s.resource()).Namespace(key.Namespace)
	obj, err := objects.Get(ctx, key.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("get %s %s: %w", s.kind.Kind, key, err)
	}
	if obj.GetUID() != e.UID {
		return nil // The table will be told of the new generation.
	}
	setObserved(obj, e.generation)
	_, err = objects.UpdateStatus(ctx, obj, metav1.UpdateOptions{})
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err):
		return fmt.Errorf("update status of %s %s: %w; add the status subresource to its CRD", s.kind.Kind, key, err)
	default:
		return fmt.Errorf("update status of %s %s: %w; allow to update %s/status", s.kind.Kind, key, err, s.resource().Resource)
	}
}

// setObserved sets the generation in the status and leaves everything else in it. A status
// that isn't an object is replaced.
func setObserved(obj *unstructured.Unstructured, generation int64) {
	fields, ok := obj.Object["status"].(map[string]any)
	if !ok {
		fields = map[string]any{}
	}
	fields["observedGeneration"] = generation
	obj.Object["status"] = fields
}

package xds

import (
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// subscription is the subscription of a stream to one resource.
type subscription struct {
	stream *stream
	typ    resourceType
	name   string
	topic  *topic
	// named is true if the client has named the resource, and covered if a wildcard covers it.
	named, covered bool
	dirty          bool // typeState.dirty has the subscription; stream.mu guards both
	view           *view
	// sent is the version that the client was sent last. If resend is true, it is sent again.
	sent   string
	resend bool
	// rejected are the last two versions that the client has rejected, the newest first: it may
	// reject a resource and then its plain variant.
	rejected [2]string
	refused  atomic.Bool // the client has rejected the last version; any goroutine may read it
	nonce    string      // of the last response with the resource
	// resubscribed is true if the client may have subscribed again to what it was sent before. The
	// bytes of its next response then count against the resend budget (§6.2).
	resubscribed bool
}

// subscribeName subscribes to a resource by a name that admit has checked. The error is a status.
func (s *stream) subscribeName(typ resourceType, name string) (sub *subscription, err error) {
	if sub = s.types[typ].subscriptions[name]; sub == nil {
		if sub, err = s.subscribe(typ, name); err != nil {
			return nil, err
		}
	}
	if !sub.named {
		sub.named = true
		s.types[typ].names++
		s.names++
	}
	return sub, nil
}

// unsubscribeName reverses subscribeName for a named subscription. If a wildcard covers the
// resource, the subscription stays.
func (s *stream) unsubscribeName(sub *subscription) {
	sub.named = false
	s.types[sub.typ].names--
	s.names--
	if !sub.covered {
		s.unsubscribe(sub)
	}
}

// subscribe adds a subscription that the stream doesn't have. The error is a status.
func (s *stream) subscribe(typ resourceType, name string) (*subscription, error) {
	if s.budget.subscriptions.Add(1) > maxSubscriptions {
		s.budget.subscriptions.Add(-1)
		s.server.refusedClient(refusedSubscriptions, s.client.id)
		return nil, status.Errorf(codes.ResourceExhausted, "the streams of this client are subscribed to %d resources already", maxSubscriptions)
	}
	t, err := s.server.acquire(typ, name, &s.client)
	if err != nil {
		s.budget.subscriptions.Add(-1)
		return nil, err
	}
	in := &s.types[typ]
	sub := &subscription{stream: s, typ: typ, name: name, topic: t, resubscribed: in.unsubscribed}
	t.join(sub, s.place)
	s.mu.Lock()
	if in.subscriptions == nil {
		in.subscriptions = map[string]*subscription{}
	}
	in.subscriptions[name] = sub
	s.mu.Unlock()
	s.wake(noLane, sub)
	return sub, nil
}

// subscribeAnew replaces a subscription whose topic depends on the namespace of the client. What the client
// was sent and has rejected stays known. The error is a status.
func (s *stream) subscribeAnew(old *subscription) error {
	s.drop(old)
	sub, err := s.subscribe(old.typ, old.name)
	if err != nil {
		return err
	}
	sub.named, sub.covered = old.named, old.covered
	sub.sent, sub.nonce, sub.resend, sub.resubscribed = old.sent, old.nonce, old.resend, old.resubscribed
	sub.rejected = old.rejected
	sub.refused.Store(old.refused.Load())
	return nil
}

// unsubscribe ends a subscription at the client's request.
func (s *stream) unsubscribe(sub *subscription) {
	s.drop(sub)
	s.types[sub.typ].unsubscribed = true
}

func (s *stream) drop(sub *subscription) {
	s.mu.Lock()
	delete(s.types[sub.typ].subscriptions, sub.name)
	s.mu.Unlock()
	sub.topic.leave(sub)
	s.server.topics.Release(sub.topic.query, func(t *topic) { t.end() }) // the last use ends the topic
	s.budget.subscriptions.Add(-1)
}

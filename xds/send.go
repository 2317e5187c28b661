package xds

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/channel"
)

// maxDeltaResponse limits the resources of a delta response, in bytes.
const maxDeltaResponse = 1 << 20

// flush sends all changes, in the order in which the client loses no traffic: Clusters, endpoints,
// Listeners, routes, and then the removal of Clusters (§6.6).
func (s *stream) flush() error {
	paced := time.Now().Before(s.pacedUntil)
	var ended []*subscription
	if !paced {
		var err error
		if ended, err = s.list(nil); err != nil {
			return err
		}
		s.refreshAhead()
	}
	dirty := s.takeDirty(paced)
	defer s.lag.End()
	for typ := range resourceTypes {
		if paced && typ != endpoints {
			continue
		}
		if err := s.flushType(typ, &dirty); err != nil {
			return err
		}
	}
	return s.flushEnded(ended)
}

// refreshAhead renews the Clusters that changed Listeners and routes refer to, and the endpoints of
// changed Clusters. Each topic learns of a change by itself, but the order must hold within one
// flush.
func (s *stream) refreshAhead() {
	var changed []*subscription
	s.mu.Lock()
	for _, sub := range s.dirty {
		if sub.typ != endpoints && s.isOpen(sub) {
			changed = append(changed, sub)
		}
	}
	s.mu.Unlock()
	for _, sub := range changed {
		s.renewAfter(sub)
	}
}

// renewAfter renews the resources that a resource refers to: Clusters, and endpoints, which a
// client may have without their Cluster.
func (s *stream) renewAfter(sub *subscription) {
	if sub.typ == endpoints {
		return
	}
	// follow may change the view. The references of both views are renewed.
	for _, name := range slices.Concat(sub.view.current.Load().References, sub.follow().References) {
		if of := s.types[endpoints].subscriptions[name]; of != nil {
			of.topic.renew()
		}
		if of := s.types[clusters].subscriptions[name]; of != nil && sub.typ != clusters {
			of.topic.renew()
			s.renewAfter(of)
		}
	}
}

// renewAll renews all resources of the stream.
func (s *stream) renewAll() {
	for typ := range s.types {
		for _, sub := range s.types[typ].subscriptions {
			sub.topic.renew()
		}
	}
}

// isOpen reports whether a subscription hasn't ended.
func (s *stream) isOpen(sub *subscription) bool {
	return s.types[sub.typ].subscriptions[sub.name] == sub
}

// takeDirty removes and returns the dirty subscriptions by type, sorted by name. While the stream
// is paced, only those for endpoints are taken.
func (s *stream) takeDirty(paced bool) (dirty [resourceTypes][]*subscription) {
	s.mu.Lock()
	kept := s.dirty[:0]
	for _, sub := range s.dirty {
		switch {
		case paced && sub.typ != endpoints:
			kept = append(kept, sub)
			continue
		case s.isOpen(sub):
			dirty[sub.typ] = append(dirty[sub.typ], sub)
		}
		sub.dirty = false
	}
	clear(s.dirty[len(kept):])
	s.dirty = kept
	s.mu.Unlock()
	for _, list := range dirty {
		sortByName(list)
	}
	return dirty
}

func sortByName(list []*subscription) {
	slices.SortFunc(list, func(a, b *subscription) int { return cmp.Compare(a.name, b.name) })
}

func (s *stream) flushType(typ resourceType, dirty *[resourceTypes][]*subscription) error {
	list := dirty[typ]
	if in := &s.types[typ]; len(list) == 0 && !in.mustRespond && len(in.removedNames) == 0 {
		return nil
	}
	if typ == clusters {
		dirty[endpoints] = s.withWarmed(list, dirty[endpoints])
	}
	if s.variant == variantSotW && !typ.Single() {
		return s.flushWhole(typ, list)
	}
	return s.flushChanged(typ, list)
}

// withWarmed adds the endpoints of the Clusters that have changed, and of those that a wildcard
// covers again: a client uses such a Cluster only after another response with its endpoints (§6.6).
func (s *stream) withWarmed(changed, more []*subscription) []*subscription {
	for _, sub := range changed {
		f := sub.due()
		if sub.sent == "" && !sub.covered || f == nil {
			continue
		}
		for _, name := range f.References {
			if of := s.types[endpoints].subscriptions[name]; of != nil && of.sent != "" {
				of.resend = true
				more = append(more, of)
			}
		}
	}
	sortByName(more)
	return slices.Compact(more)
}

// due returns the version to send; nil if the client has it.
func (sub *subscription) due() *frame {
	f := sub.offered()
	if f == nil || sub.rejects(f) || f.Version == sub.sent && !sub.resend {
		return nil
	}
	return f
}

// offered returns the current version for the client; nil if the resource doesn't exist. If the
// client has rejected it, that is the plain variant.
func (sub *subscription) offered() *frame {
	f := sub.follow()
	switch {
	case f.existence != exists:
		return nil
	case f.plain != nil && sub.rejects(f):
		return f.plain
	default:
		return f
	}
}

// rejects reports whether the client has rejected a version.
func (sub *subscription) rejects(f *frame) bool { return slices.Contains(sub.rejected[:], f.Version) }

// follow returns the current version of the view for the client's place. If the subscription has
// another view, it joins that one first.
func (sub *subscription) follow() *frame {
	s := sub.stream
	for {
		v := sub.view
		f := v.current.Load()
		if sub.topic.hides(f.visibleTo, s) == v.hidden && (sub.typ != endpoints || f.filters.For(s.place) == v.filter) {
			return f
		}
		sub.topic.join(sub, s.place)
	}
}

// item is a resource to send for a subscription.
type item struct {
	sub   *subscription
	frame *frame
}

// flushWhole sends all resources of a type in one response, if one of them has changed.
func (s *stream) flushWhole(typ resourceType, list []*subscription) error {
	in := &s.types[typ]
	lacks := in.mustRespond && !s.client.grpc
	in.mustRespond = false
	if !lacks && !slices.ContainsFunc(list, func(sub *subscription) bool { return sub.due() != nil }) {
		return nil
	}
	var items []item
	for _, sub := range in.subscriptions {
		if f := sub.offered(); f != nil {
			items = append(items, item{sub, f})
		}
	}
	slices.SortFunc(items, func(a, b item) int { return cmp.Compare(a.sub.name, b.sub.name) })
	version, resumed := versionOf(items), in.resumedVersion
	if in.resumedVersion = ""; version == resumed {
		for _, i := range items {
			i.sub.sent = i.frame.Version
		}
		return nil
	}
	return s.send(typ, items, appendHead(nil, version, typ))
}

// flushEnded ends the subscriptions to Clusters that a wildcard no longer covers, and sends their
// removal.
func (s *stream) flushEnded(ended []*subscription) error {
	if len(ended) == 0 {
		return nil
	}
	in := &s.types[clusters]
	for _, sub := range ended {
		s.drop(sub)
		if sub.sent != "" {
			in.removedNames = append(in.removedNames, sub.name)
		}
	}
	if s.variant == variantDelta {
		return s.flushChanged(clusters, nil)
	}
	in.removedNames, in.mustRespond = nil, true
	return s.flushWhole(clusters, nil)
}

// flushChanged sends the changed resources: in SotW each in a response of its own, in delta with the
// names of removed ones.
func (s *stream) flushChanged(typ resourceType, list []*subscription) error {
	in := &s.types[typ]
	var head []byte
	respond, limit := false, 0
	if s.variant == variantDelta {
		head, respond, limit = appendBytes(nil, fieldTypeURL, []byte(typ.URL())), in.mustRespond && !s.client.grpc, maxDeltaResponse
	}
	in.mustRespond = false
	removed := s.takeRemoved(typ, list)
	var items []item
	size := 0
	for _, sub := range list {
		f := sub.due()
		if f == nil {
			continue
		}
		if size += len(f.Wire); size > limit && len(items) > 0 {
			if err := s.send(typ, items, head); err != nil {
				return err
			}
			items, size = nil, len(f.Wire)
		}
		items = append(items, item{sub, f})
	}
	if len(items) == 0 && len(removed) == 0 && !respond {
		return nil
	}
	for _, name := range removed {
		head = appendBytes(head, fieldRemoved, []byte(name))
	}
	return s.send(typ, items, head)
}

// takeRemoved returns the names of resources that a delta client has to be told are removed, once.
func (s *stream) takeRemoved(typ resourceType, list []*subscription) []string {
	in := &s.types[typ]
	removed := slices.DeleteFunc(in.removedNames, func(name string) bool { return in.subscriptions[name] != nil })
	in.removedNames = nil
	for _, sub := range list {
		if s.variant == variantDelta && sub.follow().existence == missing && !sub.removed {
			removed = append(removed, sub.name)
			sub.removed, sub.sent = true, ""
		}
	}
	return removed
}

// send sends a response with these frames, the encoded fields more, and a new nonce.
func (s *stream) send(typ resourceType, items []item, more []byte) error {
	if channel.IsClosed(s.server.stopping) {
		return nil
	}
	if s.unread {
		s.worker.detach()
	}
	s.beginSending(items)
	s.nonce, s.unread = newNonce(), true
	r := newResponse(s.variant, items, more, s.nonce)
	size := r.bytes.Len()
	if err := s.out.SendMsg(s.connection.Message(r)); err != nil {
		return err
	}
	s.server.metrics.sent(typ, s.variant, size)
	s.pace(typ, size)
	s.types[typ].nonce = s.nonce
	s.responses.Add(1)
	for _, i := range items {
		sub := i.sub
		sub.sent, sub.resend, sub.removed, sub.resubscribed, sub.nonce = i.frame.Version, false, false, false, s.nonce
		sub.refused.Store(false)
	}
	return nil
}

// beginSending records the age of the oldest change that is sent. If the client has subscribed
// again, it waits for the resend budget.
func (s *stream) beginSending(items []item) {
	oldest, resent := time.Now(), 0
	for _, i := range items {
		if made := i.frame.made; i.sub.sent != "" && i.sub.sent != i.frame.Version && made.Before(oldest) {
			oldest = made
		}
		if i.sub.resubscribed {
			resent += len(i.frame.Wire)
		}
	}
	s.lag.Begin(oldest)
	if resent > 0 {
		s.worker.detach()
		_ = s.budget.resend.WaitN(s.ctx, min(resent, resendBurst)) // it fails if the context ends, which sending notices
	}
}

// reject records that a client has rejected a response. Only error_detail is a rejection (§6.4). If
// a response has several resources, those that the reason names are rejected, because clients
// accept the others. If it names none, all are.
func (s *stream) reject(typ resourceType, nonce, why string) {
	in := &s.types[typ]
	if nonce == "" || nonce == in.rejected {
		return
	}
	_ = s.budget.take(s.ctx, rejectionCost*len(in.subscriptions)) // it fails if the context ends, which sending notices
	var answered []*subscription
	for _, sub := range in.subscriptions {
		if sub.nonce == nonce && sub.rejected[0] != sub.sent {
			answered = append(answered, sub)
		}
	}
	if len(answered) == 0 {
		return
	}
	in.rejected = nonce
	s.server.metrics.nacks.WithLabelValues(typ.String(), string(s.client.kind)).Inc()
	if named := namedIn(why, answered); len(named) > 0 {
		answered = named
	}
	for _, sub := range answered {
		sub.rejected = [2]string{sub.sent, sub.rejected[0]}
		sub.refused.Store(true)
		s.server.rejections.record(rejection{typ, sub.name, sub.sent, s.client.kind}, sub.visibleService(), why)
		s.mark(sub, laneRequest) // there may be a plain variant
	}
}

// visibleService returns the Service of a subscription; zero if it is missing, or hidden from the
// client.
func (sub *subscription) visibleService() catalog.ServiceKey {
	if key, unknown, _ := sub.topic.inspect(sub); !unknown {
		return key
	}
	return catalog.ServiceKey{}
}

// maxReason limits the part of a reason that is searched for names, in bytes.
const maxReason = 4 << 10

// namedIn returns the subscriptions whose names are in a text. A name before another digit is part
// of a longer port, and doesn't count.
func namedIn(text string, list []*subscription) (named []*subscription) {
	text = text[:min(len(text), maxReason)]
	for _, sub := range list {
		if at := strings.Index(text, sub.name); at >= 0 && !strings.ContainsAny(text[at+len(sub.name):][:min(1, len(text)-at-len(sub.name))], "0123456789") {
			named = append(named, sub)
		}
	}
	return named
}

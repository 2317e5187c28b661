package xds

import (
	"cmp"
	"slices"
	"time"

	"github.com/signpostd/signpost/internal/channel"
)

// maxDeltaResponse bounds the resources of a delta response, in bytes.
const maxDeltaResponse = 1 << 20

// flush sends what the client lacks, in the order in which it loses no traffic: Clusters, endpoints, Listeners, routes
// (§6.6).
func (s *stream) flush() error {
	s.refreshAhead()
	dirty := s.takeDirty()
	defer s.finish()
	for typ := range resourceTypes {
		if err := s.flushType(typ, dirty); err != nil {
			return err
		}
	}
	return nil
}

// refreshAhead makes Clusters and endpoints as new as the Listeners, routes and Clusters that have changed: each topic
// learns of a change by itself, and the order holds within one flush only.
func (s *stream) refreshAhead() {
	s.mu.Lock()
	ahead := s.ahead
	s.mu.Unlock()
	if !ahead {
		return
	}
	for _, typ := range []resourceType{clusters, endpoints} {
		for _, sub := range s.types[typ].subscriptions {
			sub.topic.renew()
		}
	}
}

// takeDirty returns the subscriptions of each type whose views have changed, sorted by name.
func (s *stream) takeDirty() *[resourceTypes][]*subscription {
	var dirty [resourceTypes][]*subscription
	s.mu.Lock()
	for _, sub := range s.dirty {
		sub.dirty = false
		if s.types[sub.typ].subscriptions[sub.name] == sub { // else it was ended when it changed
			dirty[sub.typ] = append(dirty[sub.typ], sub)
		}
	}
	clear(s.dirty)
	s.dirty, s.ahead = s.dirty[:0], false
	s.mu.Unlock()
	for _, list := range dirty {
		sortByName(list)
	}
	return &dirty
}

func sortByName(list []*subscription) {
	slices.SortFunc(list, func(a, b *subscription) int { return cmp.Compare(a.name, b.name) })
}

func (s *stream) flushType(typ resourceType, dirty *[resourceTypes][]*subscription) error {
	list := dirty[typ]
	if len(list) == 0 && !s.types[typ].owed {
		return nil
	}
	if typ == clusters {
		dirty[endpoints] = s.withWarmed(list, dirty[endpoints])
	}
	switch {
	case s.variant == variantDelta:
		return s.flushDelta(typ, list)
	case typ.single():
		return s.flushEach(typ, list)
	default:
		return s.flushWhole(typ, list)
	}
}

// withWarmed adds the endpoints of the Clusters that have changed: a client uses a changed Cluster only after another
// response with its endpoints (§6.6).
func (s *stream) withWarmed(changed, more []*subscription) []*subscription {
	for _, sub := range changed {
		if sub.sent == "" || sub.due() == nil {
			continue
		}
		if of := s.types[endpoints].subscriptions[endpointsOf(sub.name)]; of != nil && of.sent != "" {
			of.resend = true
			if !slices.Contains(more, of) {
				more = append(more, of)
			}
		}
	}
	return more
}

// due returns the version that the client lacks, nil if it lacks none.
func (sub *subscription) due() *frame {
	f := sub.offered()
	if f == nil || sub.rejects(f) || f.version == sub.sent && !sub.resend {
		return nil
	}
	return f
}

// offered returns the resource that is right for the client: its plain variant if the client has rejected the other
// one, nil if there is none.
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
func (sub *subscription) rejects(f *frame) bool { return slices.Contains(sub.rejected[:], f.version) }

// follow returns the newest version of the view that is right for the client's place, and joins it first if the stream
// follows another one.
func (sub *subscription) follow() *frame {
	s := sub.stream
	for {
		v := sub.view
		f := v.current.Load()
		if sub.topic.hides(f.visibleTo, s) == v.hidden && (sub.typ != endpoints || f.kind.For(s.place) == v.filter) {
			return f
		}
		sub.topic.join(sub, s.place)
	}
}

// flushEach sends each resource in a response of its own.
func (s *stream) flushEach(typ resourceType, list []*subscription) error {
	s.types[typ].owed = false
	for _, sub := range list {
		f := sub.due()
		if f == nil {
			continue
		}
		if err := s.send(typ, []*subscription{sub}, []*frame{f}, singleResponse(f, s.nonce+1)); err != nil {
			return err
		}
	}
	return nil
}

// flushWhole sends all resources of a type in one response, if the client lacks one of them.
func (s *stream) flushWhole(typ resourceType, list []*subscription) error {
	in := &s.types[typ]
	lacks := in.owed && !s.client.grpc && len(in.subscriptions) == 0
	in.owed = false
	if !lacks && !slices.ContainsFunc(list, func(sub *subscription) bool { return sub.due() != nil }) {
		return nil
	}
	var subs []*subscription
	for _, sub := range in.subscriptions {
		subs = append(subs, sub)
	}
	sortByName(subs)
	var frames []*frame
	var sent []*subscription
	for _, sub := range subs {
		if f := sub.offered(); f != nil {
			frames, sent = append(frames, f), append(sent, sub)
		}
	}
	return s.send(typ, sent, frames, wholeResponse(typ, frames, versionOf(frames), s.nonce+1))
}

// flushDelta sends the resources that have changed, and the names of those that are missing.
func (s *stream) flushDelta(typ resourceType, list []*subscription) error {
	in := &s.types[typ]
	owed := in.owed && !s.client.grpc
	in.owed = false
	var removed []string
	for _, sub := range list {
		if sub.follow().existence == missing && !sub.removed {
			removed = append(removed, sub.name)
			sub.removed, sub.sent = true, ""
		}
	}
	var subs []*subscription
	var frames []*frame
	size := 0
	for _, sub := range list {
		f := sub.due()
		if f == nil {
			continue
		}
		if size += len(f.wire); size > maxDeltaResponse && len(frames) > 0 {
			if err := s.send(typ, subs, frames, deltaResponse(typ, frames, nil, s.nonce+1)); err != nil {
				return err
			}
			subs, frames, size = nil, nil, len(f.wire)
		}
		subs, frames = append(subs, sub), append(frames, f)
	}
	if len(frames) == 0 && len(removed) == 0 && !owed {
		return nil
	}
	return s.send(typ, subs, frames, deltaResponse(typ, frames, removed, s.nonce+1))
}

// send sends a response, which has the next nonce, with the frames of these subscriptions.
func (s *stream) send(typ resourceType, subs []*subscription, frames []*frame, r *response) error {
	if channel.IsClosed(s.server.stopping) {
		return nil
	}
	s.beginSending(subs, frames)
	if again := againBytes(subs, frames); again > 0 && s.resender != nil {
		s.resender.wait(s.ctx, again)
	}
	if err := s.out.SendMsg(r); err != nil {
		return err
	}
	s.server.metrics.sent(typ, s.variant, r.size())
	s.nonce++
	s.types[typ].nonce = s.nonce
	s.responses.Add(1)
	for i, sub := range subs {
		sub.sent, sub.resend, sub.removed, sub.again, sub.nonce = frames[i].version, false, false, false, s.nonce
		sub.refused.Store(false)
	}
	return nil
}

// againBytes returns the size of the resources that the client may have had before it unsubscribed.
func againBytes(subs []*subscription, frames []*frame) int {
	n := 0
	for i, sub := range subs {
		if sub.again {
			n += len(frames[i].wire)
		}
	}
	return n
}

// beginSending notes since when the oldest of the changes has been known that are being sent.
func (s *stream) beginSending(subs []*subscription, frames []*frame) {
	oldest := time.Now()
	for i, sub := range subs {
		if made := frames[i].made; sub.sent != "" && sub.sent != frames[i].version && made.Before(oldest) {
			oldest = made
		}
	}
	s.begin(oldest)
}

// reject notes that a client has rejected a response. Nothing else is a rejection (§6.4).
func (s *stream) reject(typ resourceType, nonce, why string) {
	in := &s.types[typ]
	for _, sub := range in.subscriptions {
		if sub.nonce == 0 || nonceText(sub.nonce) != nonce || sub.rejected[0] == sub.sent {
			continue
		}
		sub.rejected = [2]string{sub.sent, sub.rejected[0]}
		sub.refused.Store(true)
		if in.rejected != sub.nonce {
			in.rejected = sub.nonce
			s.server.metrics.rejected(typ, s.client.kind)
		}
		s.server.rejections.tell(rejection{typ, sub.name, sub.sent, s.client.kind}, sub.topic.name.Service, why)
		s.mark(sub) // there may be a plain variant
	}
}

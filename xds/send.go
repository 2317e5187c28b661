package xds

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/signpostd/signpost/internal/channel"
)

// maxDeltaResponse bounds the resources of a delta response, in bytes.
const maxDeltaResponse = 1 << 20

// flush sends what the client lacks, in the order in which it loses no traffic: Clusters, endpoints,
// Listeners, routes, and then which Clusters have ended (§6.6).
func (s *stream) flush() error {
	held := s.isHeld()
	var ended []*subscription
	if !held {
		var err error
		if ended, err = s.list(nil); err != nil {
			return err
		}
		s.refreshAhead(len(ended) > 0)
	}
	dirty := s.takeDirty(held)
	defer s.finish()
	for typ := range resourceTypes {
		if held && typ != endpoints {
			continue
		}
		if err := s.flushType(typ, dirty); err != nil {
			return err
		}
	}
	return s.flushEnded(ended)
}

// refreshAhead makes Clusters and endpoints as new as the Listeners, routes and Clusters that have changed:
// each topic learns of a change by itself, and the order holds within one flush only. If Clusters end, routes
// have to be as new.
func (s *stream) refreshAhead(ended bool) {
	s.mu.Lock()
	ahead := s.ahead
	s.mu.Unlock()
	types := []resourceType{clusters, endpoints}
	switch {
	case ended:
		types = append(types, listeners, routes)
	case !ahead:
		return
	}
	for _, typ := range types {
		for _, sub := range s.types[typ].subscriptions {
			sub.topic.renew()
		}
	}
}

// takeDirty returns the subscriptions of each type whose views have changed, sorted by name. While the stream
// is held, it leaves all but those for endpoints.
func (s *stream) takeDirty(held bool) *[resourceTypes][]*subscription {
	var dirty [resourceTypes][]*subscription
	s.mu.Lock()
	kept := s.dirty[:0]
	for _, sub := range s.dirty {
		switch {
		case held && sub.typ != endpoints:
			kept = append(kept, sub)
			continue
		case s.types[sub.typ].subscriptions[sub.name] == sub: // else it was ended when it changed
			dirty[sub.typ] = append(dirty[sub.typ], sub)
		}
		sub.dirty = false
	}
	clear(s.dirty[len(kept):])
	s.dirty, s.ahead = kept, len(kept) > 0
	s.mu.Unlock()
	for _, list := range dirty {
		sortByName(list)
	}
	return &dirty
}

// isHeld reports whether all but endpoints have to wait, and makes the stream wake up when that is over.
func (s *stream) isHeld() bool {
	wait := time.Until(s.held)
	if wait <= 0 {
		return false
	}
	if s.later == nil {
		s.later = time.After(wait)
	}
	return true
}

func sortByName(list []*subscription) {
	slices.SortFunc(list, func(a, b *subscription) int { return cmp.Compare(a.name, b.name) })
}

func (s *stream) flushType(typ resourceType, dirty *[resourceTypes][]*subscription) error {
	list := dirty[typ]
	if in := &s.types[typ]; len(list) == 0 && !in.owed && len(in.lost) == 0 {
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

// withWarmed adds the endpoints of the Clusters that have changed, and of those that a wildcard covers again:
// a client uses such a Cluster only after another response with its endpoints (§6.6).
func (s *stream) withWarmed(changed, more []*subscription) []*subscription {
	for _, sub := range changed {
		if sub.sent == "" && !sub.listed || sub.due() == nil {
			continue
		}
		if of := s.types[endpoints].subscriptions[endpointsOf(sub.name)]; of != nil && of.sent != "" {
			of.resend = true
			more = append(more, of)
		}
	}
	sortByName(more)
	return slices.Compact(more)
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

// follow returns the newest version of the view that is right for the client's place, and joins it first if
// the stream follows another one.
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
	lacks := in.owed && !s.client.grpc
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
	version, has := versionOf(frames), in.has
	if in.has = ""; version == has {
		for i, sub := range sent {
			sub.sent = frames[i].version
		}
		return nil
	}
	return s.send(typ, sent, frames, wholeResponse(typ, frames, version, s.nonce+1))
}

// flushEnded tells the client which Clusters have ended that a wildcard covered.
func (s *stream) flushEnded(ended []*subscription) error {
	if len(ended) == 0 {
		return nil
	}
	for _, sub := range ended {
		s.drop(sub)
		if sub.sent != "" {
			s.types[clusters].lost = append(s.types[clusters].lost, sub.name)
		}
	}
	if s.variant == variantDelta {
		return s.flushDelta(clusters, nil)
	}
	s.types[clusters].lost, s.types[clusters].owed = nil, true
	return s.flushWhole(clusters, nil)
}

// flushDelta sends the resources that have changed, and the names of those that are missing.
func (s *stream) flushDelta(typ resourceType, list []*subscription) error {
	in := &s.types[typ]
	owed := in.owed && !s.client.grpc
	in.owed = false
	removed := slices.DeleteFunc(in.lost, func(name string) bool { return in.subscriptions[name] != nil })
	in.lost = nil
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
	size := r.size()
	s.server.metrics.sent(typ, s.variant, size)
	s.hold(typ, size)
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

// reject notes that a client has rejected a response. Nothing else is a rejection (§6.4). Of a response with several
// resources, those count that the reason names, or all if it names none: clients accept the others.
func (s *stream) reject(typ resourceType, nonce, why string) {
	in := &s.types[typ]
	n := nonceFrom(nonce)
	if n == 0 || n == in.rejected {
		return
	}
	var answered []*subscription
	for _, sub := range in.subscriptions {
		if sub.nonce == n && sub.rejected[0] != sub.sent {
			answered = append(answered, sub)
		}
	}
	if len(answered) == 0 {
		return
	}
	in.rejected = n
	s.server.metrics.rejected(typ, s.client.kind)
	if named := namedIn(why, answered); len(named) > 0 {
		answered = named
	}
	for _, sub := range answered {
		sub.rejected = [2]string{sub.sent, sub.rejected[0]}
		sub.refused.Store(true)
		s.server.rejections.tell(rejection{typ, sub.name, sub.sent, s.client.kind}, sub.topic.name.Service, why)
		s.mark(sub) // there may be a plain variant
	}
}

// maxReason is how much of the reason of a rejection is searched for names.
const maxReason = 4 << 10

// namedIn returns the subscriptions whose name a text has. A port in the text may have more digits than that
// of a name.
func namedIn(text string, list []*subscription) (named []*subscription) {
	text = text[:min(len(text), maxReason)]
	for _, sub := range list {
		if at := strings.Index(text, sub.name); at >= 0 && !strings.ContainsAny(text[at+len(sub.name):][:min(1, len(text)-at-len(sub.name))], "0123456789") {
			named = append(named, sub)
		}
	}
	return named
}

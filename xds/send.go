package xds

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/signpostd/signpost/internal/channel"
)

// maxDeltaResponse limits the resources of a delta response, in bytes.
const maxDeltaResponse = 1 << 20

// flush sends all changes, in the order in which the client loses no traffic: Clusters, endpoints,
// Listeners, routes, and then the removal of Clusters (§6.6). A paced stream sends endpoints only.
func (s *stream) flush() error {
	defer s.lag.End()
	if time.Now().Before(s.pacedUntil) {
		return s.flushType(endpoints, s.takeDirty(endpoints))
	}
	ended, err := s.list(nil)
	if err != nil {
		return err
	}
	// Topics renew themselves, each in a goroutine. So the Clusters and endpoints that a changed resource
	// refers to are renewed here before they are taken. Endpoints are taken after Clusters were sent, because
	// sending a changed Cluster marks its endpoints.
	var dirty [resourceTypes][]*subscription
	for _, typ := range [...]resourceType{routes, listeners, clusters} {
		dirty[typ] = s.takeDirty(typ)
		for _, sub := range dirty[typ] {
			s.renewAfter(sub)
		}
	}
	for typ := range resourceTypes {
		if typ == endpoints {
			dirty[typ] = s.takeDirty(typ)
		}
		if err := s.flushType(typ, dirty[typ]); err != nil {
			return err
		}
	}
	in := &s.types[clusters]
	for _, sub := range ended {
		s.drop(sub)
		if sub.sent != "" {
			in.removedNames = append(in.removedNames, sub.name)
		}
	}
	return s.flushType(clusters, nil)
}

// renewAfter renews the Clusters and endpoints that a resource refers to.
func (s *stream) renewAfter(sub *subscription) {
	for _, name := range sub.follow().References {
		if of := s.types[endpoints].subscriptions[name]; of != nil {
			of.topic.renew()
		}
		if of := s.types[clusters].subscriptions[name]; of != nil && sub.typ != clusters {
			of.topic.renew()
			s.renewAfter(of)
		}
	}
}

// takeDirty returns the dirty subscriptions of a type that have not ended, sorted by name.
func (s *stream) takeDirty(typ resourceType) []*subscription {
	in := &s.types[typ]
	s.mu.Lock()
	list := in.dirty
	in.dirty = nil
	for _, sub := range list {
		sub.dirty = false
	}
	s.mu.Unlock()
	list = slices.DeleteFunc(list, func(sub *subscription) bool { return in.subscriptions[sub.name] != sub })
	slices.SortFunc(list, byName)
	return list
}

func byName(a, b *subscription) int { return cmp.Compare(a.name, b.name) }

func (s *stream) flushType(typ resourceType, list []*subscription) error {
	if in := &s.types[typ]; len(list) == 0 && !in.mustRespond && len(in.removedNames) == 0 {
		return nil
	}
	if s.variant == variantSotW && !typ.Single() {
		return s.flushWhole(typ, list)
	}
	return s.flushChanged(typ, list)
}

// warm makes the next flush send the endpoints of a Cluster again. A client uses a Cluster that has
// changed, or that a wildcard covers again, only after another response with its endpoints (§6.6).
func (s *stream) warm(cluster *frame) {
	for _, name := range cluster.References {
		if of := s.types[endpoints].subscriptions[name]; of != nil {
			of.resend = true
			s.wake(noLane, of)
		}
	}
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
	case f.Wire == nil:
		return nil
	case f.plain != nil && sub.rejects(f):
		return f.plain
	default:
		return f
	}
}

func (sub *subscription) rejects(f *frame) bool { return slices.Contains(sub.rejected[:], f.Version) }

// follow returns the current version of the view that the subscription should have, and joins it.
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

// item is a resource that is sent for a subscription.
type item struct {
	sub   *subscription
	frame *frame
}

// flushWhole sends all resources of a type in one response, if one of them has changed or was
// removed.
func (s *stream) flushWhole(typ resourceType, list []*subscription) error {
	in := &s.types[typ]
	lacks := in.mustRespond || len(in.removedNames) > 0
	in.mustRespond, in.removedNames = false, nil
	if !lacks && !slices.ContainsFunc(list, func(sub *subscription) bool { return sub.due() != nil }) {
		return nil
	}
	var items []item
	for _, sub := range slices.SortedFunc(maps.Values(in.subscriptions), byName) {
		if f := sub.offered(); f != nil {
			items = append(items, item{sub, f})
		}
	}
	version, resumed := versionOf(items), in.resumedVersion
	if in.resumedVersion = ""; version == resumed {
		for _, i := range items {
			i.sub.sent = i.frame.Version
		}
		return nil
	}
	return s.send(typ, version, items, nil)
}

// flushChanged sends the changed resources: in SotW each in a response of its own, in delta with the
// names of removed ones.
func (s *stream) flushChanged(typ resourceType, list []*subscription) error {
	in := &s.types[typ]
	respond, limit := false, 0
	if s.variant == variantDelta {
		respond, limit = in.mustRespond, maxDeltaResponse
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
			if err := s.send(typ, "", items, nil); err != nil {
				return err
			}
			items, size = nil, len(f.Wire)
		}
		items = append(items, item{sub, f})
	}
	if len(items) == 0 && len(removed) == 0 && !respond {
		return nil
	}
	return s.send(typ, "", items, removed)
}

// takeRemoved returns the names of resources that a delta client has to be told are removed.
func (s *stream) takeRemoved(typ resourceType, list []*subscription) []string {
	in := &s.types[typ]
	removed := slices.DeleteFunc(in.removedNames, func(name string) bool { return in.subscriptions[name] != nil })
	in.removedNames = nil
	for _, sub := range list {
		if s.variant == variantDelta && sub.follow().missing {
			removed = append(removed, sub.name)
			sub.sent = ""
		}
	}
	return removed
}

// send sends a response with a new nonce. The version is as in newResponse.
func (s *stream) send(typ resourceType, version string, items []item, removed []string) error {
	if channel.IsClosed(s.server.calls.Stopping()) {
		return nil
	}
	if s.unread {
		s.worker.detach()
	}
	s.beginSending(items)
	s.nonce, s.unread = newNonce(), true
	r := s.newResponse(typ, version, items, removed)
	if err := s.out.SendMsg(s.call.Message(&r)); err != nil {
		return err
	}
	s.server.metrics.responses.WithLabelValues(typ.String(), s.variant).Inc()
	s.server.metrics.bytes.WithLabelValues(typ.String()).Add(float64(r.Len()))
	s.pace(typ, r.Len())
	s.types[typ].nonce = s.nonce
	s.responses.Add(1)
	for _, i := range items {
		sub := i.sub
		if typ == clusters && (sub.sent != "" || sub.covered) && (sub.sent != i.frame.Version || sub.resend) {
			s.warm(i.frame)
		}
		sub.sent, sub.resend, sub.resubscribed, sub.nonce = i.frame.Version, false, false, s.nonce
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

// reject records which resources of a response a client has rejected (§6.4). If the reason names resources,
// only these count, because the client accepts the others.
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
	s.server.metrics.nacks.WithLabelValues(typ.String(), s.client.kind).Inc()
	if named := namedIn(why, answered); len(named) > 0 {
		answered = named
	}
	for _, sub := range answered {
		sub.rejected = [2]string{sub.sent, sub.rejected[0]}
		sub.refused.Store(true)
		of, _ := sub.topic.inspect(sub)
		s.server.rejections.record(rejection{typ, sub.name, sub.sent, s.client.kind}, of, why)
		s.wake(laneRequest, sub) // there may be a plain variant
	}
}

// namedIn returns the subscriptions whose names are in a text.
func namedIn(text string, list []*subscription) (named []*subscription) {
	text = text[:min(len(text), maxReason)]
	for _, sub := range list {
		if hasName(text, sub.name) {
			named = append(named, sub)
		}
	}
	return named
}

// hasName reports whether a text has a name that is not part of a longer one: web.shop:80 is part of
// my-web.shop:80, of web-0.web.shop:80 and of web.shop:8080.
func hasName(text, name string) bool {
	joins := ".-_:" // what can join the name with the rest of a longer one
	if strings.Contains(name, ":") {
		joins = ".-_"
	}
	for at := 0; name != ""; at++ {
		i := strings.Index(text[at:], name)
		if i < 0 {
			break
		}
		at += i
		before, after := text[:at], text[at+len(name):]
		begins := before == "" || !isNameByte(before[len(before)-1]) && !strings.ContainsAny(before[len(before)-1:], ".-_")
		if begins && !continues(after, joins) {
			return true
		}
	}
	return false
}

// continues reports whether a text continues the name before it, which one of the bytes in joins may precede.
func continues(text, joins string) bool {
	if len(text) > 1 && strings.ContainsAny(text[:1], joins) {
		text = text[1:]
	}
	return text != "" && isNameByte(text[0])
}

func isNameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

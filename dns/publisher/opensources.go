package publisher

import (
	"slices"
	"time"

	"github.com/signpostd/signpost/internal/channel"
	"github.com/signpostd/signpost/kube"
)

// Nothing is planned before every source was evaluated, so that the order of listings doesn't
// decide which object gets a new name. Sources that can't be read are skipped after these times,
// counted from the first successful read of any. Deletions wait longer, until the source is read.
const (
	// failureTimeout is for a table whose last attempt failed. For one that may not be read it counts
	// from the first refusal, because rights may be granted right after the start.
	failureTimeout = 5 * time.Second
	// responseTimeout is for a table without any response, and fillTimeout for any table.
	responseTimeout = 15 * time.Second
	fillTimeout     = 2 * time.Minute
)

// openSources opens the sources whose objects can be evaluated now: those with all tables filled,
// including the awaited ones, and those that are no longer awaited. It reports whether it opened
// any.
func (p *Publisher) openSources(now time.Time) bool {
	if p.sourcesEvaluated {
		return false
	}
	if p.firstRead.IsZero() && p.anythingRead() {
		p.firstRead = now
	}
	opened := false
	for i := range p.sources {
		s, src := &p.sources[i], &p.Sources[i]
		if !s.open && (s.read || src.Poll == nil && p.allFilled(src.Tables) || p.notAwaited(i, now)) {
			s.open, opened = true, true
		}
	}
	return opened
}

// notAwaited reports whether an unread source isn't awaited any longer.
func (p *Publisher) notAwaited(i int, now time.Time) bool {
	src, s := p.Sources[i].Source, &p.sources[i]
	if p.once != nil && channel.IsClosed(p.once.settled) {
		return src.Poll == nil || s.err != nil
	}
	if src.Poll != nil {
		return s.err != nil || !p.firstRead.IsZero() && now.Sub(p.firstRead) >= responseTimeout
	}
	return slices.ContainsFunc(src.Tables, func(t kube.AnyTable) bool { return terminating(t) || !p.filled(t) && p.unavailable(s, t, now) })
}

// terminating reports whether the definition of a table's kind is being removed.
func terminating(t kube.AnyTable) bool { return t.Status().Reason == kube.Terminating }

// anythingRead reports whether anything of a source has been read.
func (p *Publisher) anythingRead() bool {
	for i := range p.sources {
		if src := p.Sources[i].Source; p.sources[i].read || src.Poll == nil && (len(src.Tables) == 0 || slices.ContainsFunc(src.Tables, p.filled)) {
			return true
		}
	}
	return false
}

// unavailable reports whether an unfilled table of a source isn't awaited any longer.
func (p *Publisher) unavailable(s *sourceState, t kube.AnyTable, now time.Time) bool {
	status := t.Status()
	state, reason, contact := status.State, status.Reason, status.LastContact
	for _, of := range status.Namespaces {
		if !of.Filled && of.State == kube.Waiting && slices.Contains(p.namespacesOf(t), of.Namespace) {
			state, reason = of.State, of.Reason
		}
	}
	switch {
	case state == kube.Waiting && reason == kube.NotFound:
		return true
	case state == kube.Waiting && (reason == kube.Forbidden || reason == kube.DiscoveryForbidden):
		return now.Sub(s.firstRefusal(now)) >= failureTimeout
	case p.firstRead.IsZero():
		return false
	case state == kube.Waiting && now.Sub(p.firstRead) >= failureTimeout:
		return true
	}
	return now.Sub(later(p.firstRead, contact)) >= responseTimeout || now.Sub(p.firstRead) >= fillTimeout
}

// firstRefusal returns when the API server first refused to let a table of the source be read. It is
// called at each refusal.
func (s *sourceState) firstRefusal(now time.Time) time.Time {
	if s.refused.IsZero() {
		s.refused = now
	}
	return s.refused
}

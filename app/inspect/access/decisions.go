package access

import (
	"time"

	"github.com/signpostd/signpost/app/inspect"
)

// maxDecisions limits the cached decisions.
const maxDecisions = 256

// decision is a decision about a token, a verb and a path.
type decision struct {
	until time.Time
	// refused is nil if the request is allowed.
	refused *inspect.Refused
}

func refused(reason string) decision {
	return decision{until: time.Now().Add(refusedFor), refused: &inspect.Refused{Reason: reason}}
}

func (a decision) err() error {
	if a.refused == nil {
		return nil
	}
	return a.refused
}

// decisionCache is the cache of decisions.
type decisionCache map[reviewKey]decision

func (c decisionCache) get(q reviewKey, now time.Time) (decision, bool) {
	a, ok := c[q]
	return a, ok && now.Before(a.until)
}

// put caches a decision. If the cache is full, it drops expired decisions, then refusals: only a
// client with a valid token can fill the cache with others.
func (c decisionCache) put(q reviewKey, a decision, now time.Time) {
	if len(c) >= maxDecisions {
		c.drop(func(old decision) bool { return !now.Before(old.until) })
	}
	if len(c) >= maxDecisions && a.refused != nil {
		return // a new refusal is worth no more than an old decision
	}
	if len(c) >= maxDecisions {
		c.drop(func(old decision) bool { return old.refused != nil })
	}
	for other := range c {
		if len(c) < maxDecisions {
			break
		}
		delete(c, other)
	}
	c[q] = a
}

func (c decisionCache) drop(which func(decision) bool) {
	for q, a := range c {
		if which(a) {
			delete(c, q)
		}
	}
}

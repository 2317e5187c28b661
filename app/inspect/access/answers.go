package access

import (
	"time"

	"github.com/signpostd/signpost/app/inspect"
)

// maxAnswers limits the cached decisions.
const maxAnswers = 256

// answer is a decision about a token, a verb and a path.
type answer struct {
	until time.Time
	// refused is nil if the request is allowed.
	refused *inspect.Refused
}

func refused(reason string) answer {
	return answer{until: time.Now().Add(refusedFor), refused: &inspect.Refused{Reason: reason}}
}

func (a answer) err() error {
	if a.refused == nil {
		return nil
	}
	return a.refused
}

// answers is the cache of decisions.
type answers map[question]answer

func (c answers) get(q question, now time.Time) (answer, bool) {
	a, ok := c[q]
	return a, ok && now.Before(a.until)
}

// put caches a decision. If the cache is full, it drops expired decisions, then refusals: only a
// client with a valid token can fill the cache with others.
func (c answers) put(q question, a answer, now time.Time) {
	if len(c) >= maxAnswers {
		c.drop(func(old answer) bool { return !now.Before(old.until) })
	}
	if len(c) >= maxAnswers && a.refused != nil {
		return // a new refusal is worth no more than an old answer
	}
	if len(c) >= maxAnswers {
		c.drop(func(old answer) bool { return old.refused != nil })
	}
	for other := range c {
		if len(c) < maxAnswers {
			break
		}
		delete(c, other)
	}
	c[q] = a
}

func (c answers) drop(which func(answer) bool) {
	for q, a := range c {
		if which(a) {
			delete(c, q)
		}
	}
}

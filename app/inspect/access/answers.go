package access

import (
	"time"

	"github.com/signpostd/signpost/app/inspect"
)

// maxAnswers is how many answers are cached.
const maxAnswers = 256

// answer is what the API server said about a token, a verb and a path.
type answer struct {
	until time.Time
	// refused is nil if the request may be made.
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

// answers are the cached answers.
type answers map[question]answer

func (c answers) get(q question, now time.Time) (answer, bool) {
	a, ok := c[q]
	return a, ok && now.Before(a.until)
}

// put caches an answer. When the cache is full, it drops the answers that are out of date, then the
// refusals: only a client with a valid token can fill the cache with others.
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

package access

import (
	"testing"
	"time"

	"github.com/signpostd/signpost/app/inspect"
)

// Refusals evict no allowed decision from the cache, and the cache is bounded (tenants S8).
func TestAllowedAnswersStay(t *testing.T) {
	now := time.Now()
	later := now.Add(time.Minute)
	numbered := func(kind byte, i int) reviewKey { return reviewKey{kind, byte(i), byte(i >> 8)} }
	no := &inspect.Refused{Reason: "no"}
	c := decisionCache{}
	for i := range maxDecisions / 2 {
		c.put(numbered('a', i), decision{until: later}, now)
	}
	for i := range 10 * maxDecisions {
		c.put(numbered('r', i), decision{until: later, refused: no}, now)
	}
	for i := range maxDecisions / 2 {
		if _, ok := c.get(numbered('a', i), now); !ok {
			t.Fatalf("the allowed answer %d is gone", i)
		}
	}
	for i := range 10 * maxDecisions {
		c.put(numbered('b', i), decision{until: later}, now)
	}
	if _, ok := c.get(numbered('b', 10*maxDecisions-1), now); !ok || len(c) > maxDecisions {
		t.Errorf("%d answers, and the last one is there: %v", len(c), ok)
	}
	// What is out of date makes room also for a refusal.
	after := later.Add(time.Second)
	c.put(numbered('r', 0), decision{until: after.Add(time.Second), refused: no}, after)
	if got, ok := c.get(numbered('r', 0), after); !ok || got.err() == nil || len(c) != 1 {
		t.Errorf("%d answers, %v", len(c), ok)
	}
}

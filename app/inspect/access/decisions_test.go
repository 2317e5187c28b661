package access

import (
	"testing"

	"github.com/signpostd/signpost/app/inspect"
)

// Refusals evict no allowed decision from the cache (tenants S8), and failures are no decisions.
func TestAllowedDecisionsStay(t *testing.T) {
	numbered := func(i int) reviewKey { return reviewKey{byte(i), byte(i >> 8)} }
	r := New(nil)
	r.remember(numbered(0), nil)
	r.remember(numbered(1), errBusy)
	for i := range 10 * maxDecisions {
		r.remember(numbered(i+2), &inspect.Refused{Reason: "no"})
	}
	if known, err := r.known(numbered(0)); !known || err != nil {
		t.Errorf("the allowed decision: %v, %v", known, err)
	}
	if known, err := r.known(numbered(10*maxDecisions + 1)); !known || err == nil {
		t.Errorf("the last refusal: %v, %v", known, err)
	}
	if known, _ := r.known(numbered(1)); known {
		t.Error("a failure is cached")
	}
}

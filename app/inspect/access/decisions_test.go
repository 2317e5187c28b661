package access

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"github.com/signpostd/signpost/app/inspect"
)

// Refusals evict no allowed decision from the cache (tenants S8), and failures are no decisions.
func TestAllowedDecisionsStay(t *testing.T) {
	numbered := func(i int) reviewKey { return reviewKey{byte(i), byte(i >> 8)} }
	r := New(nil)
	r.remember(numbered(0), nil)
	r.remember(numbered(1), errBusy)
	if known, _ := r.known(numbered(1)); known {
		t.Error("a failure is cached")
	}
	for i := range 10 * maxDecisions {
		r.remember(numbered(i+2), &inspect.Refused{Reason: "no"})
	}
	if known, err := r.known(numbered(0)); !known || err != nil {
		t.Errorf("the allowed decision: %v, %v", known, err)
	}
	if known, err := r.known(numbered(10*maxDecisions + 1)); !known || err == nil {
		t.Errorf("the last refusal: %v, %v", known, err)
	}
}

// The limiters of addresses are limited. If all are in use, further addresses share one.
func TestLimitersOfAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget()
		use := func(i int) *rate.Limiter {
			limit := b.rateOf(netip.AddrFrom4([4]byte{192, 0, byte(i >> 8), byte(i)}))
			limit.AllowN(time.Now(), addressBurst)
			return limit
		}
		for i := range maxKnown {
			if use(i) == b.unknown {
				t.Fatalf("the address number %d has no limiter", i)
			}
		}
		if use(maxKnown) != b.unknown || len(b.rates) != maxKnown {
			t.Errorf("%d limiters", len(b.rates))
		}
		time.Sleep(addressBurst * time.Second / addressPerSecond)
		if use(maxKnown) == b.unknown || len(b.rates) != 1 {
			t.Errorf("%d limiters, and none is unused", len(b.rates))
		}
	})
}

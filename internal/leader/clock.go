package leader

import "time"

// holderClock compares the clock of the lease's holder with ours, using the renew times in the lease.
type holderClock struct {
	holder  string
	renewed time.Time // last renew time, by the holder's clock
	sent    time.Time // when the last read was sent, by our clock
}

// observe records a read of the lease, with the times of its request and its response by our clock. If the
// lease was renewed since the previous read, known is true, and ahead is the least difference by which our
// clock is ahead of the holder's; negative if it is behind.
func (c *holderClock) observe(holder string, renewed, sent, responded time.Time) (ahead time.Duration, known bool) {
	last := *c
	*c = holderClock{holder, renewed, sent}
	if holder == "" || holder != last.holder || renewed.Equal(last.renewed) {
		return 0, false
	}
	// By our clock, the renewal was after the previous read was sent, and before the response to this one.
	least, most := last.sent.Sub(renewed), responded.Sub(renewed)
	return max(least, min(most, 0)), true
}

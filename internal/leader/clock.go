package leader

import "time"

// holderClock compares the clock of the lease's holder with that of this process, using the renew times in
// the lease.
type holderClock struct {
	holder  string
	renewed time.Time // last renew time, by the holder's clock
	asked   time.Time // when the last read was sent, by our clock
}

// observe records a read of the lease, which was sent and answered at these times of our clock. If the lease
// was renewed since the previous read, known is true, and ahead is how much our clock is ahead of the
// holder's, at least; negative if it is behind.
func (c *holderClock) observe(holder string, renewed, sent, answered time.Time) (ahead time.Duration, known bool) {
	last := *c
	*c = holderClock{holder, renewed, sent}
	if holder == "" || holder != last.holder || renewed.Equal(last.renewed) {
		return 0, false
	}
	// By our clock, the renewal was after the previous read was sent, and before this one was answered.
	least, most := last.asked.Sub(renewed), answered.Sub(renewed)
	return max(least, min(most, 0)), true
}

package provider

import (
	"strconv"
	"testing"
	"time"
)

// The pause after a refused type change grows from a minute to an hour, and ends when one is made (clouds
// F2).
func TestSwaps(t *testing.T) {
	var s Swaps
	now := time.Unix(0, 0)
	reason := ErrRejected
	for _, pause := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 16 * time.Minute, 32 * time.Minute, time.Hour, time.Hour} {
		s.Refused("a", reason, now)
		if s.Paused("a", now.Add(pause-1)) == nil || s.Paused("a", now.Add(pause)) != nil {
			t.Errorf("the pause isn't %v", pause)
		}
		now = now.Add(pause)
	}
	s.Made("a")
	if s.Refused("a", reason, now); s.Paused("a", now.Add(time.Minute)) != nil {
		t.Error("a swap that was made doesn't end the failures")
	}
}

// Of too many refused type changes, those whose pauses end first are forgotten.
func TestManySwaps(t *testing.T) {
	var s Swaps
	now := time.Unix(0, 0)
	for i := range 2 * maxSwaps {
		s.Refused(strconv.Itoa(i), ErrRejected, now.Add(time.Duration(i)))
	}
	for i := range 2 * maxSwaps {
		if paused := s.Paused(strconv.Itoa(i), now) != nil; paused != (i >= maxSwaps) {
			t.Fatalf("name %d is paused: %v", i, paused)
		}
	}
}

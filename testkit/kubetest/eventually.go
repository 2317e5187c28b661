package kubetest

import (
	"testing"
	"time"
)

// pollInterval is the time between two checks of a condition.
const pollInterval = 20 * time.Millisecond

// Eventually calls condition until it returns nil, and fails the test with its last error after the timeout.
// The condition runs on the test's goroutine.
func Eventually(t testing.TB, timeout time.Duration, condition func() error) {
	t.Helper()
	if err := poll(timeout, condition); err != nil {
		t.Fatalf("not within %s: %v", timeout, err)
	}
}

// poll returns nil as soon as condition does, or its last error.
func poll(timeout time.Duration, condition func() error) error {
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		err := condition()
		if err == nil {
			return nil
		}
		select {
		case <-deadline.C:
			return err
		case <-tick.C:
		}
	}
}

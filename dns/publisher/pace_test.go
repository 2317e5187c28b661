package publisher

import (
	"testing"
	"time"
)

// Batches of a slow server become smaller, so that a change of another namespace doesn't wait long
// for the running batch. Those of a fast server stay full (tenants S3).
func TestBatchPace(t *testing.T) {
	var b batchPace
	for _, step := range []struct {
		changes int
		took    time.Duration
		want    int
	}{
		{500, 20 * time.Millisecond, 500},
		{500, 100 * time.Millisecond, 500},
		{500, 250 * time.Millisecond, 200},
		{200, 100 * time.Millisecond, 200},
		{200, 80 * time.Millisecond, 200},
		{10, time.Second, 200}, // a small batch says nothing
		{200, 10 * time.Millisecond, 400},
		{400, 10 * time.Millisecond, 500},
		{500, 10 * time.Millisecond, 500},
		{500, time.Minute, 50},
		{50, time.Minute, 50},
	} {
		b.adapt(step.changes, step.took)
		if got := b.limit(500); got != step.want {
			t.Errorf("after %d changes in %v batches have %d changes, want %d", step.changes, step.took, got, step.want)
		}
	}
}

package publisher

import "time"

const (
	// batchTime is how long a batch should take. A change of another namespace waits for the running
	// batch.
	batchTime = 100 * time.Millisecond
	// minBatch is the minimum size of a batch, in changes.
	minBatch = 50
)

// batchPace adapts the size of batches to the time that they take. Its zero value has no limit of
// its own.
type batchPace struct{ size int }

// limit returns the maximum size of the next batch. It is never above the limit of the provider.
func (b *batchPace) limit(provider int) int {
	if b.size == 0 {
		return provider
	}
	return min(b.size, provider)
}

// adapt notes how long a batch took. The size at most doubles with each batch.
func (b *batchPace) adapt(changes int, took time.Duration) {
	switch {
	case took <= batchTime && b.size == 0, changes < minBatch:
		// The time says nothing about larger batches.
	case took <= batchTime/2:
		if b.size *= 2; b.size > defaultBatch {
			b.size = 0
		}
	case took > batchTime:
		b.size = max(minBatch, int(int64(changes)*int64(batchTime)/int64(took)))
	}
}

// maxNewNames limits how many new names are planned, or queried at the provider, at a time. The
// loop does other work in between, and namespaces take turns.
const maxNewNames = 1000

// metered reports whether calls of the provider are limited or counted. Batches are then as large
// as possible.
func (p *Publisher) metered() bool {
	return p.batchInterval > 0 || p.capabilities.CallsPerSecond > 0 || p.Limits.CallsPerSecond > 0 || p.capabilities.ListingTime > 0
}

// maxNamesPerPass returns how many new names of a zone are planned at a time: enough to fill a
// batch of a metered provider.
func (p *Publisher) maxNamesPerPass() int {
	if p.metered() {
		return max(maxNewNames, p.batchSize)
	}
	return maxNewNames
}

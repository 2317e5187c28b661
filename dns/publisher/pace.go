package publisher

import "time"

const (
	// batchTime is how long a batch should take: a change of another namespace waits for the one that is under way.
	batchTime = 100 * time.Millisecond
	// leastBatch is the size that no batch is made smaller than, in changes.
	leastBatch = 50
)

// batchPace adapts the size of batches to the time that they take. Its zero value has no limit of its own.
type batchPace struct{ size int }

// most returns how many changes a batch may have: as many as the provider takes, or fewer.
func (b *batchPace) most(provider int) int {
	if b.size == 0 {
		return provider
	}
	return min(b.size, provider)
}

// adapt notes how long a batch took. A size at most doubles with each batch.
func (b *batchPace) adapt(changes int, took time.Duration) {
	switch {
	case took <= batchTime && b.size == 0, changes < leastBatch:
		// It says nothing about larger batches.
	case took <= batchTime/2:
		if b.size *= 2; b.size > defaultBatch {
			b.size = 0
		}
	case took > batchTime:
		b.size = max(leastBatch, int(int64(changes)*int64(batchTime)/int64(took)))
	}
}

// mostAtATime is how many new names are planned, or a provider is asked about, at a time. The loop does other things in
// between, and namespaces take turns.
const mostAtATime = 1000

// metered reports whether calls of the provider are limited or counted. Batches are as large as they can be then.
func (p *Publisher) metered() bool {
	return p.batchInterval > 0 || p.capabilities.CallsPerSecond > 0 || p.Limits.CallsPerSecond > 0 || p.capabilities.ListingTime > 0
}

// namesAtATime returns how many new names of a zone are planned at a time: no fewer than what fills a batch of a metered provider.
func (p *Publisher) namesAtATime() int {
	if p.metered() {
		return max(mostAtATime, p.batchSize)
	}
	return mostAtATime
}

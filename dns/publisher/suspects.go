package publisher

import "time"

// suspects are the names that failed alone, without a reason from the provider, since the last success,
// with their namespaces.
type suspects map[string]string

const (
	// maxLoneFailures is how many names may fail alone and without a reason, in a row. Up to that number
	// each name counts as the cause of its failure, so that other names needn't wait.
	maxLoneFailures = 3
	// maxSuspectNamespaces is the largest number of namespaces of these names for which only these
	// namespaces wait. With more, the provider counts as the cause, and all namespaces wait.
	maxSuspectNamespaces = 2
)

// suspect notes that a name failed alone. It reports whether writing has to pause, because too many names
// have failed alone. A name counts once, because a refused name fails each time that it is tried.
func (z *zone) suspect(name string) (pause bool) {
	z.suspects[name] = z.names.all[name].namespace
	if len(z.suspects) <= maxLoneFailures {
		return false
	}
	z.pausedFor = map[string]bool{}
	for _, namespace := range z.suspects {
		z.pausedFor[namespace] = true
	}
	if len(z.pausedFor) > maxSuspectNamespaces {
		z.pausedFor = nil
	}
	return true
}

// clearSuspects forgets the suspects after a success.
func (z *zone) clearSuspects() { z.suspects, z.pausedFor = suspects{}, nil }

// planAt returns when names may be planned: not while writing pauses for all.
func (z *zone) planAt() time.Time {
	if z.pausedFor != nil {
		return time.Time{}
	}
	return z.writing.retryAt
}

// writeAt returns when a planned name may be written.
func (z *zone) writeAt() time.Time {
	if z.pausedFor != nil && z.names.firstOutside(z.pausedFor) != nil {
		return time.Time{}
	}
	return z.writing.retryAt
}

// take takes the names whose turn it is. While writing pauses, only a name of another namespace is taken,
// alone: it shows whether the provider works.
func (z *zone) take(now time.Time, batchSize int) []group {
	if !now.Before(z.writing.retryAt) {
		return z.names.take(z.limit, z.batch.limit(batchSize))
	}
	if z.pausedFor == nil {
		return nil
	}
	return z.names.takeOutside(z.pausedFor)
}

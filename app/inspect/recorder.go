package inspect

import (
	"context"
	"errors"
	"math"
	"net/http"
	"sync"
	"time"
)

const (
	// FigureInterval is the time between two values of a figure.
	FigureInterval = 5 * time.Second
	// maxValues is how many values a figure has: 15 minutes.
	maxValues = int(15 * time.Minute / FigureInterval)
	// unknownValue is a value that wasn't known. No figure is negative.
	unknownValue = -1
	// countPause is the pause after counting records, as a multiple of the duration of the count,
	// because a count visits every record.
	countPause = 100
)

// recorder keeps the figures. Its memory doesn't grow: each figure has a ring of maxValues numbers.
type recorder struct {
	server *Server

	mu sync.Mutex
	// newest is when the last values were read; zero before the first.
	newest time.Time
	rings  [4]ring
	// changes is the number of changes at the last values.
	changes uint64

	// unpublished is the last count of records that aren't published, and countAgain the time of
	// the next count. Only the goroutine of run uses them.
	unpublished int
	countAgain  time.Time
}

// ring is a ring buffer of the last values of a figure.
type ring struct {
	name   FigureName
	values [maxValues]int32
	// next is the index of the next value, and n the number of values.
	next, n int
}

func (r *ring) add(value int) {
	r.values[r.next] = int32(min(value, math.MaxInt32))
	r.next = (r.next + 1) % maxValues
	r.n = min(r.n+1, maxValues)
}

// figure returns the values, the oldest first; false if none of them is known.
func (r *ring) figure() (f Figure, known bool) {
	f = Figure{Name: r.name, Values: make([]*int, r.n)}
	for i := range f.Values {
		if v := int(r.values[(r.next-r.n+i+maxValues)%maxValues]); v != unknownValue {
			f.Values[i], known = &v, true
		}
	}
	return f, known
}

// run reads the values until the context ends.
func (r *recorder) run(ctx context.Context) {
	tick := time.NewTicker(FigureInterval)
	defer tick.Stop()
	r.begin()
	for {
		r.record(ctx, time.Now())
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// begin sets the number of changes from which the first interval counts.
func (r *recorder) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changes = r.server.config.History.Added()
}

// record adds a value to each figure.
func (r *recorder) record(ctx context.Context, now time.Time) {
	ctx, cancel := context.WithTimeout(ctx, compareTimeout)
	defer cancel()
	open, behind := unknownValue, unknownValue
	if source, ok := r.server.openStreams(); ok {
		open, behind = source.CountStreams()
	}
	r.count(ctx, now)
	r.mu.Lock()
	defer r.mu.Unlock()
	changes := unknownValue
	if log := r.server.config.History; log != nil {
		added := log.Added()
		changes, r.changes = int(added-r.changes), added
	}
	for i, v := range []struct {
		name  FigureName
		value int
	}{{FigureStreams, open}, {FigureBehind, behind}, {FigureChanges, changes}, {FigureUnpublished, r.unpublished}} {
		r.rings[i].name = v.name
		r.rings[i].add(v.value)
	}
	r.newest = now
}

// count counts the records that aren't published. During the pause after a count, the last count is
// kept.
func (r *recorder) count(ctx context.Context, now time.Time) {
	source, ok := first(r.server, zonesOf)
	if !ok {
		r.unpublished = unknownValue
		return
	}
	if now.Before(r.countAgain) {
		return
	}
	begun := time.Now()
	r.unpublished = unknownValue
	if records := countRecords(ctx, source); records != nil {
		r.unpublished = NotPublished(records)
	}
	r.countAgain = now.Add(countPause * time.Since(begun))
}

// NotPublished returns the number of records that are neither published nor of another owner.
func NotPublished(records map[RecordState]int) int {
	sum := 0
	for state, n := range records {
		if state != RecordPublished && state != RecordForeign {
			sum += n
		}
	}
	return sum
}

// figures serves [FiguresPath].
func (s *Server) figures(context.Context, parameters) (any, error) {
	r := &s.recorder
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.newest.IsZero() {
		return nil, refused(http.StatusServiceUnavailable, errors.New("no figure was read yet: try again in a few seconds"))
	}
	all := Figures{Newest: r.newest, IntervalSeconds: int(FigureInterval / time.Second), Figures: []Figure{}}
	for i := range r.rings {
		if f, known := r.rings[i].figure(); known {
			all.Figures = append(all.Figures, f)
		}
	}
	return all, nil
}

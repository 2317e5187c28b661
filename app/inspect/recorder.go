package inspect

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"
)

const (
	// FigureInterval is the time between two values of a figure.
	FigureInterval = 5 * time.Second
	// maxValues is how many values a figure has: 15 minutes.
	maxValues = int(15 * time.Minute / FigureInterval)
)

// recorder keeps the figures, each with at most maxValues values.
type recorder struct {
	server *Server

	mu sync.Mutex
	// newest is when the last values were read; zero before the first.
	newest  time.Time
	figures [4]Figure
	// changes is the number of changes at the last values.
	changes uint64
}

// run reads the values until the context ends.
func (r *recorder) run(ctx context.Context) {
	tick := time.Tick(FigureInterval)
	r.begin()
	for {
		r.record(ctx, time.Now())
		select {
		case <-ctx.Done():
			return
		case <-tick:
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
	var streams, behind, changes, unpublished *int
	if source := r.server.offered.streams; source != nil {
		all, waiting := source.CountStreams()
		streams, behind = &all, &waiting
	}
	if source := r.server.offered.zones; source != nil {
		if records := countRecords(ctx, source); records != nil {
			unpublished = new(NotPublished(records))
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if log := r.server.config.History; log != nil {
		added := log.Added()
		changes, r.changes = new(int(added-r.changes)), added
	}
	for i, v := range []struct {
		name  FigureName
		value *int
	}{{FigureStreams, streams}, {FigureBehind, behind}, {FigureChanges, changes}, {FigureUnpublished, unpublished}} {
		f := &r.figures[i]
		if f.Name = v.name; len(f.Values) == maxValues {
			f.Values = slices.Delete(f.Values, 0, 1)
		}
		f.Values = append(f.Values, v.value)
	}
	r.newest = now
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
	for _, f := range r.figures {
		if slices.ContainsFunc(f.Values, func(v *int) bool { return v != nil }) {
			all.Figures = append(all.Figures, Figure{f.Name, slices.Clone(f.Values)})
		}
	}
	return all, nil
}

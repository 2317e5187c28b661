package publisher

import (
	"slices"
	"sync"
	"time"
)

const (
	// windowPages is how many pages one walk finds. Of 500 rows each, they take about 6 MB. A command
	// reads 100 pages at most.
	windowPages = 128
	// windowTime is how long the next pages use a walk. Rows that appear meanwhile are not on them.
	windowTime = 10 * time.Second
	// maxWindows limits the kept windows. The oldest one is dropped.
	maxWindows = 3
)

// window has the keys of consecutive rows that a walk has found: those from an offset on.
type window struct {
	term   *term
	filter RowFilter
	made   time.Time
	// offset is the number of rows before hits, and total that of all rows that pass the filter.
	offset, total int
	hits          []match
}

// end returns the offset of the first row behind the window.
func (w *window) end() int { return w.offset + len(w.hits) }

// has reports whether the window has all rows of a page.
func (w *window) has(offset, limit int) bool {
	return offset >= w.offset && min(offset+limit, w.total) <= w.end()
}

func (w *window) page(offset, limit int) []match {
	end := min(offset+limit, w.end())
	return w.hits[min(offset, end)-w.offset : end-w.offset]
}

// rowWindows keeps the windows of walks that have more rows than their page, so that a list of all
// pages doesn't walk all names for each of them. A timer drops them after [windowTime].
type rowWindows struct {
	mu   sync.Mutex
	kept []*window
}

// find returns the window that has a page, or else, if there is one, the window that ends where the page
// begins. The first page is never found, so that it has the current rows.
func (s *rowWindows) find(f RowFilter, offset, limit int) (has, previous *window) {
	if offset == 0 {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range slices.Backward(s.kept) {
		switch {
		case !w.filter.equal(f) || time.Since(w.made) >= windowTime:
		case w.has(offset, limit):
			return w, nil
		case w.end() == offset:
			previous = w
		}
	}
	return nil, previous
}

// keep keeps a window, which replaces those of the same filter that begin behind it.
func (s *rowWindows) keep(w *window) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = slices.DeleteFunc(s.kept, func(k *window) bool {
		return k.filter.equal(w.filter) && w.offset <= k.offset
	})
	if len(s.kept) == maxWindows {
		s.kept = slices.Delete(s.kept, 0, 1)
	}
	s.kept = append(s.kept, w)
	// made is older than now, so the timer finds the window expired.
	time.AfterFunc(windowTime, s.expire)
}

// expire drops the windows that are not used any more.
func (s *rowWindows) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = slices.DeleteFunc(s.kept, func(k *window) bool { return time.Since(k.made) >= windowTime })
}

func (s *rowWindows) drop(w *window) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = slices.DeleteFunc(s.kept, func(k *window) bool { return k == w })
}

// reset drops all windows. Their zones are those of a term that has ended.
func (s *rowWindows) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = nil
}

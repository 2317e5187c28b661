package history

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// Recorder stores the events of a run, in memory and in a file: a line with the Setup, and a line for each
// Entry.
type Recorder struct {
	setup Setup
	start time.Time

	mu      sync.Mutex
	entries []Entry
	out     *bufio.Writer
	file    io.Closer
	err     error // the first write error
}

// NewRecorder starts a run. It creates the file at path.
func NewRecorder(setup Setup, path string) (*Recorder, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("make the history: %w", err)
	}
	r := &Recorder{setup: setup, start: time.Now(), out: bufio.NewWriter(file), file: file}
	r.line(setup)
	return r, nil
}

// Now returns the time of the run, for an Entry that is recorded later.
func (r *Recorder) Now() time.Duration { return time.Since(r.start) }

// Record adds an entry. Without a time it gets the current one.
func (r *Recorder) Record(e Entry) {
	if e.At == 0 {
		e.At = r.Now()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries = append(r.entries, e)
	r.line(e)
}

// line writes a line. It is called by one goroutine at a time.
func (r *Recorder) line(v any) {
	if err := json.NewEncoder(r.out).Encode(v); err != nil && r.err == nil {
		r.err = fmt.Errorf("write the history: %w", err)
	}
}

// History returns the events so far.
func (r *Recorder) History() History {
	r.mu.Lock()
	defer r.mu.Unlock()
	return History{Setup: r.setup, Entries: r.entries[:len(r.entries):len(r.entries)]}.Sorted()
}

// Close completes the file. Nothing may be recorded afterwards.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(r.err, r.out.Flush(), r.file.Close())
}

// ReadFile reads a history that a Recorder has written.
func ReadFile(path string) (History, error) {
	file, err := os.Open(path)
	if err != nil {
		return History{}, fmt.Errorf("open the history: %w", err)
	}
	defer file.Close()
	var h History
	lines := json.NewDecoder(bufio.NewReader(file))
	if err := lines.Decode(&h.Setup); err != nil {
		return History{}, fmt.Errorf("read the history %s: %w", path, err)
	}
	for {
		var e Entry
		err := lines.Decode(&e)
		if errors.Is(err, io.EOF) {
			return h.Sorted(), nil
		}
		if err != nil {
			return History{}, fmt.Errorf("read the history %s, entry %d: %w", path, len(h.Entries)+1, err)
		}
		h.Entries = append(h.Entries, e)
	}
}

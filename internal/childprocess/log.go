package childprocess

import (
	"bytes"
	"sync"
)

// Log collects the output of a program. The zero value is empty.
type Log struct {
	mu      sync.Mutex
	printed bytes.Buffer
}

// Write implements io.Writer.
func (l *Log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.printed.Write(b)
}

// String returns the output so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.printed.String()
}

// Package logtest has a buffer for what a program logs or prints while a test reads it. Tests of
// any package use it.
//
// # Concurrency
//
// Any goroutine may use a [Buffer].
package logtest

import (
	"bytes"
	"sync"
)

// Buffer has what was written to it. The zero value is empty.
type Buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements [io.Writer].
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String returns everything that was written since the last [Buffer.Take].
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// Take returns what String returns, and empties the buffer.
func (b *Buffer) Take() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	text := b.text.String()
	b.text.Reset()
	return text
}

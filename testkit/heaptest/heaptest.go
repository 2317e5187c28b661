// Package heaptest measures memory for tests and benchmarks: how much of the heap is in use when
// all garbage is collected. Tests of any package use it.
//
// # Concurrency
//
// [InUse] counts what all goroutines hold.
package heaptest

import "runtime"

// InUse returns the bytes of live objects. It collects garbage twice, because finalizers run after
// the first time.
func InUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

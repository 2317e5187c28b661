// Package channel has helpers for channels that are only ever closed, such as the channel of a snapshot that
// becomes stale. Streams, linked clusters, publishers and roles use it.
//
// # Concurrency
//
// The functions may be called from any goroutine.
package channel

// IsClosed reports, without waiting, whether a channel is closed. Nothing may be sent on the channel.
func IsClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

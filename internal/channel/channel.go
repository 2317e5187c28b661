// Package channel has what several packages need of channels that only ever close, such as the
// channel of a snapshot that becomes stale.
//
// Packages destination, kube/linked and dns/publisher and the command call it. Its function may
// be called from any goroutine.
package channel

// IsClosed reports whether a channel on which nobody sends is closed.
func IsClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

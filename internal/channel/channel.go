// Package channel has what several packages need of channels that only ever close, such as the
// channel of a snapshot that becomes stale.
//
// It is for states that are reached once and never left: packages destination, kube/linked,
// dns/publisher and app/process ask it without waiting, from any goroutine.
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

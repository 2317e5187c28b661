// Package bundle collects what somebody needs who looks for the cause of a problem elsewhere, as a
// tar file: what all processes of Signpost say, their metrics and settings, and their pods, logs,
// Leases and Events. It has no secrets: those that can be told are masked, and text that looks like
// one is, too.
//
// The command bundle calls [Write].
//
// bundle.go has the file and its limits, cluster.go what is read from the API server, and redact.go
// what is masked.
//
// # Concurrency
//
// A call runs in the goroutine of its command.
package bundle

// Package bundle collects diagnostics into a tar file, to find the cause of a problem without
// access to the cluster: the inspection API of all processes of Signpost, their metrics and
// settings, and their pods, logs, Leases and Events. Known secrets are masked, and so is text that
// looks like one. The command bundle calls [Write].
//
// # Concurrency
//
// A call runs in the goroutine of its command.
package bundle

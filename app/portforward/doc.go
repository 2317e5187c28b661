// Package portforward finds the processes of Signpost that a command asks, and makes their ports
// reachable: those of one address, or those of all pods that a selector finds, forwarded as
// `kubectl port-forward` does.
//
// Package inspectclient asks the admin servers, and package destclient a Destination server; commands call [Find]
// with a [Target] for both, and [Found.Close] at their end.
//
// reach.go has what callers see, pods.go finds pods and their ports, and forward.go forwards a
// port.
//
// # Concurrency
//
// All ports are forwarded at the same time. What [Find] returns may be used by any goroutine until
// it is closed, once.
package portforward

// Package portforward finds the processes of Signpost for a command, and makes their ports
// reachable: one address, or all pods of a selector, forwarded as `kubectl port-forward` does.
// Commands call [Find] with a [Target] and pass the result to package inspectclient, destclient or xdsclient;
// at their end they call [Found.Close].
//
// # Concurrency
//
// All ports are forwarded in parallel. The result of [Find] may be used by any goroutine until it
// is closed, once.
package portforward

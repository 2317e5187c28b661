// Package ownsocket is a Unix domain socket between a process and commands that its own user runs
// beside it, such as `kubectl exec POD -- signpost approve`. The kernel tells both ends who the other
// one is, so the socket needs no token and no file.
//
// Package process serves the inspection API on the socket of [Listen], and package inspectclient connects
// with [Dial]. A process is called by the port of its inspection API, because that is what a command
// knows of it.
//
// The socket has an abstract name (unix(7)), which belongs to a network namespace: all containers of a pod
// share it. A connection is accepted only from a process with the same user ID or from root, and
// only if that process is visible in our PID namespace. Another container of the pod is not, unless
// the pod shares its processes. Neither is a process of the node.
//
// Other systems than Linux have no such socket. [Listen] and [Dial] return [errors.ErrUnsupported].
//
// # Concurrency
//
// The functions may be called from any goroutine.
package ownsocket

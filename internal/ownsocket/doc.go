// Package ownsocket is a Unix domain socket between a process and commands that its own user runs beside it,
// such as `kubectl exec POD -- signpost approve`. The kernel identifies both ends, so the socket needs no
// token and no file. Package process serves the inspection API on the socket of [Listen]; package
// inspectclient connects with [Dial]. The socket is named by the port of the inspection API, because the
// command knows that port.
//
// The socket has an abstract name (unix(7)), which belongs to a network namespace: all containers of a pod
// share it. A connection is accepted only from a process with the same user ID or from root, and only if that
// process is visible in our PID namespace. Other containers of the pod are not visible, unless the pod shares
// its processes. Processes of the node are not visible either.
//
// On systems other than Linux, Listen and Dial return [errors.ErrUnsupported].
//
// # Concurrency
//
// The functions may be called from any goroutine.
package ownsocket

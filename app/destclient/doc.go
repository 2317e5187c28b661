// Package destclient is the client of Destination servers, Signpost's or Linkerd's. The commands
// get and profile call [Get] and [Profile], which print endpoints and profiles, once or as they
// change. Package inspectclient is the client of admin servers.
//
// # Concurrency
//
// A call runs in the goroutine of its command and ends with its context.
package destclient

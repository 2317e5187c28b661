// Package destination serves the Linkerd Destination API from a catalog. Package app/process runs its Server.
//
// A topic is one query, such as port 80 of web.shop, and is shared by all streams with that query. A topic
// has one view per node or zone of clients, if endpoints depend on them. When the snapshot of a topic is
// stale, each view is resolved once and its difference to the previous response is encoded once. All streams
// send these bytes.
//
// There is no queue between a view and its streams, so a slow client delays no other stream. When it reads
// again, it gets one merged difference from the last response that it was sent to the current one.
//
// GetProfile works in the same way, with one profileView per query and without differences.
//
// # Concurrency
//
// The methods of a Server may be called from any goroutine; gRPC calls Get and GetProfile concurrently. Views
// publish immutable responses through atomic pointers. No lock is held while a message is sent.
//
// The package imports catalog and no Kubernetes client. Section numbers in comments are those of
// spec/destination.md.
package destination

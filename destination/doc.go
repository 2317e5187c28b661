// Package destination serves the Linkerd Destination API from a catalog.
//
// A [Server] answers streams. Each stream is one goroutine that reads the
// current answer of a view and sends it, then waits for the next one. A view is
// one question, such as "port 80 of web.shop as seen from zone-a", shared by
// every stream that asks it: one goroutine resolves it again when the catalog
// says that it is stale, and encodes the difference once. What a stream sends is
// those shared bytes.
//
// There is no queue between a view and its streams, so a slow reader costs
// nobody anything: it finds, when it reads again, one difference between what it
// was last sent and what holds now.
//
// # Concurrency
//
// A Server's methods may be called from any goroutine; gRPC calls Get
// concurrently. Views are owned by their goroutine and publish immutable answers
// through an atomic pointer; the set of views has a lock that is held for map
// operations only.
//
// The package imports catalog and no Kubernetes client; gRPC status codes appear
// in server.go only. Section numbers in comments are those of
// spec/destination.md.
package destination

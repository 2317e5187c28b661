// Package destination serves the Linkerd Destination API from a catalog.
//
// Each stream is a goroutine that sends the current answer of a view and waits for the next
// one. A view is one question from one place, such as "port 80 of web.shop, from zone-a", and
// is shared by all streams that ask it. When the catalog says that its snapshot is stale, the
// view is resolved again, once, and the difference is encoded, once. Streams send those bytes.
//
// There is no queue between a view and its streams, so a slow reader delays nobody. When it
// reads again it gets one difference: from what it was sent last to what holds now.
//
// server.go and config.go come first, with authority.go for what a call asks. Get: view.go
// resolves, answer.go compares answers, encode.go and frame.go encode them, stream.go sends
// them. GetProfile: profileview.go answers and sends, profile.go and match.go encode.
// metrics.go and profilemetrics.go have the metrics of both, and inspect.go shows the open streams. limits.go
// says what a request may contain, and request.go bounds how long it may take. Package internal/clientlimits
// has the other limits.
//
// # Concurrency
//
// The methods of a Server may be called from any goroutine; gRPC calls Get and GetProfile
// concurrently. Views publish immutable answers through atomic pointers. The locks of the set
// of views and of a view are never held while a message is sent.
//
// The package imports catalog and no Kubernetes client. Section numbers in comments are those
// of spec/destination.md.
package destination

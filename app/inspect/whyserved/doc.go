// Package whyserved explains why a Service, an address or a workload is served as it is: the way from
// the object over pods and slices to the streams of clients.
//
// Package process makes an [Explainer] for the role destination, and app/inspect asks it. For a
// request it gathers what the server tells calls, which makes the verdict
// (docs/decisions/0069-explanations-say-what-calls-are-told.md), and what says why: what the catalog knows,
// what the API server says at that moment, and which streams there are. Pure functions make steps of these
// facts. live.go asks the API server, a bounded number of times and for a bounded number of objects. Nothing
// is kept between requests.
//
// # Concurrency
//
// Explain may be called from any goroutine.
package whyserved

// Package whyserved explains how a Service, an address or a workload is served: from the object
// over pods and slices to the streams of clients. Package process creates an [Explainer] for the
// role destination, and app/inspect calls it.
//
// The verdict is what the server sends to clients
// (docs/decisions/0069-explanations-say-what-calls-are-told.md). The causes are facts from the
// catalog, from the API server at that moment, and from the open streams. Pure functions make steps
// of these facts. live.go reads the API server, with a limited number of requests and objects. No
// state is kept between requests.
//
// # Concurrency
//
// Explain may be called from any goroutine.
package whyserved

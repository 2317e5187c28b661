// Package xds serves gRPC clients that resolve xds:///SERVICE.NAMESPACE:PORT, and Envoy, from a
// catalog.
//
// A stream subscribes to resources by name: Listeners, routes, Clusters and the endpoints of
// Clusters. A name is a topic, shared by all streams that use it. The topic makes each resource
// once for each change and, for endpoints, each place of clients that makes a difference: these are
// its views. A response is the bytes of the view and a few bytes of the stream: the nonce (decision
// 0074).
//
// There is no queue. A view tells its subscriptions that it has changed, and a stream that is able
// to send takes the newest version. What a slow client missed is never sent.
//
// server.go and config.go come first. stream.go has the life of a stream, requests.go and
// subscription.go its subscriptions, workers.go who does its work, send.go the order of what is
// sent. topic.go and render.go make the resources with package resource, wildcard.go lists the
// Clusters of namespaces, view.go delays what would cost too much. node.go says where a client is,
// limits.go what it may ask for. frame.go puts responses together, metrics.go and inspect.go
// show the streams and what they get.
//
// # Concurrency
//
// The methods of a Server may be called from any goroutine. The handler of a stream waits, and a
// second goroutine receives its requests. All else that a stream does is done by a few workers
// (workers.go), one of which owns its state meanwhile. Each topic has a goroutine that renews its
// views, and so has the listing of a wildcard. A view's version is read through an atomic pointer.
// While a message is sent, no lock is held that another stream needs.
//
// The package imports catalog and no Kubernetes client. Section numbers in comments are those of
// docs/spec/xds.md.
package xds

// Package xds serves gRPC clients that resolve xds:///SERVICE.NAMESPACE:PORT, and Envoy, from a
// catalog.
//
// A stream subscribes to resources by name. A name is a topic, shared by all streams that use it.
// The topic renders each resource once for each change and kind of client or, for endpoints, place
// of clients: these are its views. A response is the bytes of views and the nonce of the stream
// (decision 0074). There is no queue: a view tells its subscriptions that it has changed, and a
// stream that is able to send takes the newest version.
//
// server.go comes first, then stream.go with the life of a stream. requests.go and wildcard.go
// change its subscriptions, topic.go and render.go renew what it gets, view.go delays that, and
// send.go sends it.
//
// # Concurrency
//
// The methods of a Server may be called from any goroutine. The handler of a stream waits, and a
// second goroutine receives its requests. All else is done by a few workers (workers.go), one of
// which owns the stream meanwhile. Each topic and each listing of a wildcard has a goroutine that
// renews it. While a message is sent, no lock is held that another stream needs.
//
// The package imports catalog and no Kubernetes client. Section numbers in comments are those of
// docs/spec/xds.md.
package xds

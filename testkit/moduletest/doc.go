// Package moduletest is the contract test of libdns modules: a module is added to the provider libdns only
// after [Run] passes, with a server that behaves like the module's service. The server is written for each
// module, on top of a [Store].
//
// # Concurrency
//
// A Store may be used from any goroutine. A test uses one goroutine.
package moduletest

// Package moduletest is the contract test of the modules of libdns that the provider libdns has: a
// module enters the list only after [Run] passes, in front of a server that behaves as the service
// of the module does. The server is written for each module, with a [Store] behind it.
//
// Read it in this order: moduletest.go, contract.go, faults.go, store.go.
//
// # Concurrency
//
// A Store may be used from any goroutine. A test uses one goroutine.
package moduletest

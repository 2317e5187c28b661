// Package libdns is the provider for the modules of libdns (github.com/libdns/libdns): DNS services
// that somebody has written such a module for (spec/clouds.md §7).
//
// libdns has records, no conditions, no transactions and no errors with a meaning, and what a module
// makes of its promises differs. So a change is planned from what the zone has right before, written
// in an order in which a failure leaves nothing without an owner, and read back. The requests of
// modules go through the client of httpapi, with the help of the package route, although the modules
// make their clients themselves. Which modules there are is in the package modules; what one has
// to be like, in the package module; and what it is tested with, in moduletest.
//
// Read it in this order: config.go, provider.go, zones.go, call.go, reading.go, record.go, unit.go,
// apply.go, write.go.
//
// # Concurrency
//
// The provider may be called from any goroutine. It calls a module from one at a time.
package libdns

// Package libdns is the provider for modules of libdns (github.com/libdns/libdns), which speak to
// one DNS service each (spec/clouds.md §7).
//
// The interfaces of libdns have records, but no conditions, no transactions and no errors with a
// meaning, and modules keep their promises differently. So the provider does the following for each
// change:
//
//  1. It reads the zone, and plans the change from what is there.
//  2. It writes in an order in which a failure leaves no record without its ownership record.
//  3. It reads the zone again to see what was made.
//
// The requests of modules go through the client of httpapi, although modules make their own clients
// (package route). Package modules has the list of modules, package module what one has to be like,
// and testkit/moduletest the tests of one.
//
// dns/plugins registers the provider.
//
// # Concurrency
//
// The provider may be called from any goroutine. It calls a module from one at a time.
package libdns

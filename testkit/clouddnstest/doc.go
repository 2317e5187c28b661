// Package clouddnstest is a server with the API of Google Cloud DNS over HTTP, for tests of the
// provider google. It checks what Cloud DNS checks, and answers as Cloud DNS answers
// (spec/clouds.md §3.10): tokens, rights, changes that are made as a whole or not at all,
// values, conflicts, limits, pages, the rate of requests, and listings that lag behind. It is
// also the token server and the metadata server.
//
// What it knows is from the documentation of Cloud DNS (docs.cloud.google.com/dns): the REST
// reference (docs/reference/rest/v1, the pages changes, managedZones and resourceRecordSets),
// records-overview, json-record, quotas and error-messages; and from that of the metadata
// server (compute/docs/metadata/overview) and of service accounts
// (developers.google.com/identity/protocols/oauth2/service-account). Messages have the form
// that users of the API have reported. The tests of this package name the page for each rule.
//
// Start one with [New] and serve it with net/http/httptest, or use its Transport. [Hooks] make
// it fail: before a request has an effect, or after it. It has no DNS server.
//
// Read it in this order: server.go, hooks.go, token.go, metadata.go, zone.go, change.go, check.go,
// values.go, list.go.
//
// # Concurrency
//
// All methods may be called from any goroutine. Hooks are called without a lock.
package clouddnstest

// Package azuretest is a server with the APIs of Azure DNS and Azure Private DNS over HTTP, and
// with what gives out tokens for them, for tests of the provider azure. It checks what Azure checks,
// and answers as Azure answers (spec/clouds.md §4.8, §5): tokens, rights, conditions on ETags,
// values, conflicts, limits, pages, too many requests, and listings that lag behind.
//
// What it knows is from the REST reference (learn.microsoft.com/rest/api/dns: record-sets and
// zones, API version 2018-05-01; …/rest/api/dns/privatedns, API version 2024-06-01) and from the
// documentation of Azure DNS (learn.microsoft.com/azure/dns): dns-zones-records,
// dns-private-records, dns-faq and private-dns-autoregistration, and from
// azure-subscription-service-limits. The tests of this package name the page for each rule.
//
// Start one with [New] and serve it with net/http/httptest over TLS, or use its Transport. [Hooks]
// make it fail: before a request has an effect, or after it. It has no DNS server.
//
// Read it in this order: server.go, hooks.go, token.go, sets.go, zone.go, list.go, change.go,
// check.go.
//
// # Concurrency
//
// All methods may be called from any goroutine. Hooks are called without a lock.
package azuretest

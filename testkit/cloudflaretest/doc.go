// Package cloudflaretest is a server with the API of Cloudflare over HTTP, for tests of the provider
// cloudflare. It checks what Cloudflare checks, and answers as Cloudflare answers (spec/clouds.md
// §6.9): credentials, permissions, batches that are made as a whole or not at all and in their order,
// values, conflicts, limits of plans, pages, the rate of requests, and listings that lag behind. It has
// the requests that the provider sends, and no others.
//
// What it knows is from developers.cloudflare.com: the API reference (api/resources/dns/subresources/records,
// api/resources/zones, api/resources/custom_hostnames, api/resources/addressing/subresources/regional_hostnames)
// and the pages dns/manage-dns-records/reference/record-attributes, dns/manage-dns-records/reference/dns-record-types,
// dns/manage-dns-records/how-to/batch-record-changes, fundamentals/api/reference/limits and
// cloudflare-for-platforms/cloudflare-for-saas/reference/status-codes/custom-hostnames. The tests of this
// package name the page for each rule. Codes that no page has are those that users report.
//
// Start one with [New] and serve it with net/http/httptest. [Hooks] make it fail: before a
// request has an effect, or after it. It has no DNS server.
//
// Read it in this order: server.go, hooks.go, zone.go, list.go, batch.go, check.go, sides.go.
//
// # Concurrency
//
// All methods may be called from any goroutine. Hooks are called without a lock.
package cloudflaretest

// Package cloudflaretest is a test server with the HTTP API of Cloudflare, for tests of the provider
// cloudflare. It validates and responds as Cloudflare does (spec/clouds.md §6.9): credentials, permissions,
// atomic and ordered batches, values, conflicts, limits of plans, pages, request rates, and listings that lag
// behind. It implements only the requests that the provider sends. It has no DNS server.
//
// Its behaviour follows developers.cloudflare.com: the API reference (api/resources/dns/subresources/records,
// api/resources/zones, api/resources/custom_hostnames,
// api/resources/addressing/subresources/regional_hostnames) and the pages
// dns/manage-dns-records/reference/record-attributes, dns/manage-dns-records/reference/dns-record-types,
// dns/manage-dns-records/how-to/batch-record-changes, fundamentals/api/reference/limits and
// cloudflare-for-platforms/cloudflare-for-saas/reference/status-codes/custom-hostnames. The tests of this
// package name the page for each rule. Codes that no page has are those that users report.
//
// Start a server with [New] and serve it with net/http/httptest. [Hooks] make requests fail, before or after
// they have an effect.
//
// # Concurrency
//
// All methods may be called from any goroutine. Hooks are called without a lock.
package cloudflaretest

// Package azuretest is a test server with the HTTP APIs of Azure DNS and Azure Private DNS, and their token
// endpoints, for tests of the provider azure. It validates and responds as Azure does (spec/clouds.md §4.8,
// §5): tokens, rights, conditions on ETags, values, conflicts, limits, pages, throttling, and listings that
// lag behind. It has no DNS server.
//
// Its behaviour follows the REST reference (learn.microsoft.com/rest/api/dns: record-sets and zones, API
// version 2018-05-01; …/rest/api/dns/privatedns, API version 2024-06-01), the documentation of Azure DNS
// (learn.microsoft.com/azure/dns): dns-zones-records, dns-private-records, dns-faq and
// private-dns-autoregistration, and azure-subscription-service-limits. The tests of this package name the
// page for each rule.
//
// Start a server with [New], and serve it with net/http/httptest over TLS or use its Transport. [Hooks] make
// requests fail, before or after they have an effect.
//
// # Concurrency
//
// All methods may be called from any goroutine. Hooks are called without a lock.
package azuretest

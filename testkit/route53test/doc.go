// Package route53test is a server with the API of Amazon Route 53 over HTTP, for tests of the
// provider aws. It checks what Route 53 checks, and answers as Route 53 answers
// (spec/clouds.md §1.11): signatures, rights, batches that are made as a whole or not at all,
// values, conflicts, limits, pages, the rate of requests, and listings that lag behind.
//
// What it knows is from the Route 53 API Reference (docs.aws.amazon.com/Route53/latest/APIReference):
// the pages API_ChangeResourceRecordSets, API_ListResourceRecordSets, API_ListHostedZones,
// API_ListTagsForResources, API_GetChange and CommonErrors; and from the Developer Guide
// (…/DeveloperGuide): DNSLimitations, DomainNameFormat, ResourceRecordTypes and
// resource-record-sets-choosing-alias-non-alias. The tests of this package name the page for
// each rule.
//
// Start one with [New] and serve it with net/http/httptest. [Hooks] make it fail: before a
// request has an effect, or after it. It has no DNS server.
//
// Read it in this order: server.go, hooks.go, records.go, zone.go, change.go, check.go, list.go.
//
// # Concurrency
//
// All methods may be called from any goroutine. Hooks are called without a lock.
package route53test

// Package route53test is a test server with the HTTP API of Amazon Route 53, for tests of the provider aws.
// It validates and responds as Route 53 does (spec/clouds.md §1.11): signatures, rights, atomic batches,
// values, conflicts, limits, pages, request rates, and listings that lag behind. It has no DNS server.
//
// Its behaviour follows the Route 53 API Reference (docs.aws.amazon.com/Route53/latest/APIReference): the
// pages API_ChangeResourceRecordSets, API_ListResourceRecordSets, API_ListHostedZones,
// API_ListTagsForResources, API_GetChange and CommonErrors; and the Developer Guide (…/DeveloperGuide):
// DNSLimitations, DomainNameFormat, ResourceRecordTypes and resource-record-sets-choosing-alias-non-alias.
// The tests of this package name the page for each rule.
//
// Start a server with [New] and serve it with net/http/httptest. [Hooks] make requests fail, before or after
// they have an effect.
//
// # Concurrency
//
// All methods may be called from any goroutine. Hooks are called without a lock.
package route53test

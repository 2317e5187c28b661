// Package clouddnstest is a test server with the HTTP API of Google Cloud DNS, for tests of the provider
// google. It validates and responds as Cloud DNS does (spec/clouds.md §3.10): tokens, rights, atomic changes,
// values, conflicts, limits, pages, request rates, and listings that lag behind. It is also the token server
// and the metadata server. It has no DNS server.
//
// Its behaviour follows the documentation of Cloud DNS (docs.cloud.google.com/dns): the REST reference
// (docs/reference/rest/v1, the pages changes, managedZones and resourceRecordSets), records-overview,
// json-record, quotas and error-messages; that of the metadata server (compute/docs/metadata/overview); and
// that of service accounts (developers.google.com/identity/protocols/oauth2/service-account). Messages have
// the form that users of the API have reported. The tests of this package name the page for each rule.
//
// Start a server with [New], and serve it with net/http/httptest or use its Transport. [Hooks] make requests
// fail, before or after they have an effect.
//
// # Concurrency
//
// All methods may be called from any goroutine. Hooks are called without a lock.
package clouddnstest

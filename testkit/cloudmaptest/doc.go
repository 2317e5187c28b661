// Package cloudmaptest is a test server with the HTTP API of AWS Cloud Map, for tests of the provider awssd.
// It validates and responds as Cloud Map does (spec/clouds.md §2): signatures, rights, names, services with
// fixed record types, instances that need the attributes of their service, asynchronous operations that may
// fail, pages, limits, request rates, and responses that lag behind. It has no DNS server.
//
// Its behaviour follows the AWS Cloud Map API Reference (docs.aws.amazon.com/cloud-map/latest/api): the pages
// API_CreateService, API_UpdateService, API_DeleteService, API_RegisterInstance, API_DeregisterInstance,
// API_ListNamespaces, API_ListServices, API_ListInstances, API_GetOperation, API_DiscoverInstancesRevision,
// API_DnsConfig, API_DnsRecord and CommonErrors; and the Developer Guide (…/dg): cloud-map-limits and
// throttling. The tests of this package name the page for each rule.
//
// Start a server with [New] and serve it with net/http/httptest. [Hooks] make requests fail, before or after
// they have an effect, and operations.
//
// # Concurrency
//
// All methods may be called from any goroutine. Before and After of Hooks are called without a lock.
package cloudmaptest

// Package cloudmaptest is a server with the API of AWS Cloud Map over HTTP, for tests of the
// provider awssd. It checks what Cloud Map checks, and answers as Cloud Map answers (spec/clouds.md
// §2): signatures, rights, names, services whose types of records can't change, instances that
// need the attributes of their service, operations that take their time and may fail, pages,
// limits, the rate of requests, and answers that lag behind.
//
// What it knows is from the AWS Cloud Map API Reference (docs.aws.amazon.com/cloud-map/latest/api):
// the pages API_CreateService, API_UpdateService, API_DeleteService, API_RegisterInstance,
// API_DeregisterInstance, API_ListNamespaces, API_ListServices, API_ListInstances, API_GetOperation,
// API_DiscoverInstancesRevision, API_DnsConfig, API_DnsRecord and CommonErrors; and from the Developer Guide (…/dg):
// cloud-map-limits and throttling. The tests of this package name the page for each rule.
//
// Start one with [New] and serve it with net/http/httptest. [Hooks] make it fail: before a
// request has an effect, or after it; and operations. It has no DNS server.
//
// Read it in this order: server.go, hooks.go, world.go, services.go, instances.go, lists.go.
//
// # Concurrency
//
// All methods may be called from any goroutine. Before and After of Hooks are called without a lock.
package cloudmaptest

// Package crdtest has the part of an API server that package crd uses, in memory: DNSRecords of
// one namespace, with resource versions, a status of their own and deletions with preconditions.
// So the owner can be tested in thousands of schedules. How a real API server behaves is tested
// in package crd itself.
//
// # Concurrency
//
// A [Server] serves requests from any goroutine.
package crdtest

// Package crdtest is the part of an API server that package crd uses, in memory: DNSRecords of one namespace,
// with resource versions, a status subresource and deletions with preconditions. It lets the registry be
// tested in thousands of schedules. Package crd's own tests use a real API server.
//
// # Concurrency
//
// A [Server] serves requests from any goroutine.
package crdtest

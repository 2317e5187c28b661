// Package awstest is what the fake APIs of AWS services have in common: [Signed] checks the
// signatures of requests, and [Start] sets the environment of a test so that the SDK finds a fake
// API.
//
// The kits route53test and cloudmaptest, and the tests of the providers aws and awssd, use it.
//
// # Concurrency
//
// Signed may be called from any goroutine. Start belongs to the goroutine of its test.
package awstest

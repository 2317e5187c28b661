// Package awstest has what the test servers for AWS services share: it checks the signatures of requests.
// Packages route53test and cloudmaptest use it.
//
// # Concurrency
//
// The functions may be called from any goroutine.
package awstest

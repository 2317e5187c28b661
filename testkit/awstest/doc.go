// Package awstest is what the test servers for services of AWS have in common: they check the
// signatures of requests.
//
// The packages route53test and cloudmaptest below the providers use it.
//
// # Concurrency
//
// The functions may be called from any goroutine.
package awstest

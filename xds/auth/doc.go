// Package auth says who the clients of the xds role are (docs/spec/xds.md §7.3).
//
// With --xds-auth token, [Keys] verifies a service account token with the keys that the API server
// publishes. No request is made for a token, so the streams of 20,000 clients can come back at once,
// and while the API server is unreachable. With --xds-auth mtls, [Certificates] reads the service
// account in the certificate of the client. Package process makes the authenticator, and package xds
// calls it once for each stream.
//
// # Concurrency
//
// Authenticators may be called from any goroutine. [Keys.Run] has to run at the same time.
package auth

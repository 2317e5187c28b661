// Package bindtest runs a real BIND on a free loopback port, for tests, benchmarks and demos. Its zones may
// be transferred and updated with a key, over TCP and optionally TLS. For Kerberos keys it also runs a [KDC].
//
// A [Server] is ready when [Start] returns. It needs no privileges and shares nothing with a BIND of the
// system. Nothing is left after Stop, or after the end of the process that started it. The same is true of a
// KDC. The package needs named of BIND 9.18 or later, in the PATH or in /usr/sbin, and for a KDC the programs
// krb5kdc, kdb5_util and kadmin.local of MIT Kerberos; `make deps` installs them.
//
// # Concurrency
//
// The methods of a Server or KDC may be called from any goroutine, with two exceptions: Stop is called once,
// and nothing else is called during Kill and Restart.
package bindtest

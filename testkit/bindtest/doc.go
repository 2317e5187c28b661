// Package bindtest runs a real BIND on a free port of the loopback interface, for tests,
// benchmarks and demonstrations. Its zones may be transferred and updated with a key, over TCP
// and optionally over TLS. For keys that are negotiated with Kerberos it also runs a [KDC].
//
// A [Server] is ready when [Start] returns. It needs no privileges, shares nothing with a BIND
// of the system, and leaves nothing behind after Stop, or when the process that started it
// dies. The same is true of a KDC. The package needs the program named of BIND 9.18 or later,
// in the PATH or in /usr/sbin, and for a KDC the programs krb5kdc, kdb5_util and kadmin.local
// of MIT Kerberos; `make deps` installs them.
//
// Read it in this order: config.go, server.go, instance.go, kdc.go, certificate.go.
//
// # Concurrency
//
// The methods of a Server or KDC may be called from any goroutine, except Stop, which is
// called once, and Kill and Restart of a Server, beside which nothing else is called.
package bindtest

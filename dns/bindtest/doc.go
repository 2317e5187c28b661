// Package bindtest runs a real BIND on a free port of the loopback interface, for tests,
// benchmarks and demonstrations: zones that may be transferred and updated with a key,
// over TCP and, if asked for, over TLS. For keys that are negotiated with Kerberos it runs
// a [KDC], too.
//
// It needs the program named of BIND 9.18 or later, in the PATH or in /usr/sbin;
// `make deps` installs it. A [Server] is ready when [Start] returns, needs no rights,
// shares nothing with a BIND of the system, and leaves nothing behind after Stop or when
// the process that started it dies. The same goes for a KDC of MIT Kerberos, with the
// programs krb5kdc, kdb5_util and kadmin.local.
//
// # Concurrency
//
// The methods of a Server or KDC may be called from any goroutine, but for Stop, which is
// called once.
package bindtest

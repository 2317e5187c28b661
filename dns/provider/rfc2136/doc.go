// Package rfc2136 is the provider for DNS servers that accept dynamic updates (RFC 2136):
// BIND, Knot, PowerDNS, Windows and others (spec/dns.md §8.6). It lists zones by transfer (RFC
// 5936) and signs what it sends (TSIG, RFC 8945, or GSS-TSIG, RFC 3645).
//
// All changes of a name and of its ownership record are in one message, which a server makes
// as a whole or not at all. The prerequisites of a message say what it relies on: a record set
// to create doesn't exist, one to replace or delete is as it was listed, and a name that gets
// a CNAME has nothing else. So neither a change by somebody else since the listing nor the
// silent ignoring of RFC 2136 3.4.2.2 can do damage. What prerequisites can't express is
// queried afterwards. A server refuses a whole message without naming the cause, so a refused
// message is halved until the cause is found.
//
// A zone isn't transferred again if its serial number is that of the last transfer from the
// same server, and no update was sent in between. Every update changes the serial number (RFC
// 2136 3.6). In case a zone was loaded again with the same one, there is a transfer every ten
// minutes anyway.
//
// Read it in this order: config.go, provider.go, zone.go, records.go, probe.go, apply.go, update.go,
// rr.go, text.go, name.go; errors.go, servers.go, session.go and kerberos.go for messages;
// files.go lists zones from files.
//
// # Concurrency
//
// The methods of [Provider] may be called from any goroutine. Each call opens a connection of
// its own.
package rfc2136

// Package rfc2136 is the provider for DNS servers that accept dynamic updates (RFC 2136): BIND,
// Knot, PowerDNS, Windows and others (spec/dns.md §8.6). It lists zones by transfer (RFC 5936) and
// signs messages (TSIG, RFC 8945, or GSS-TSIG, RFC 3645). Package publisher calls it.
//
// All changes of a name and of its ownership record are in one message, which a server applies
// completely or not at all. The prerequisites of the message are: a record set to create doesn't
// exist, one to replace or delete is as listed, and a name that gets a CNAME has nothing else. So
// neither an external change since the listing nor the silent ignoring of RFC 2136 3.4.2.2 can do
// damage. What prerequisites can't express is queried afterwards. A server refuses a whole message
// without naming the cause, so a refused message is halved until the cause is found.
//
// If the serial number of a zone is that of the last transfer from the same server, and no update
// was sent in between, the zone isn't transferred again, because every update changes the serial
// number (RFC 2136 3.6). A transfer is made every ten minutes anyway, because a zone may have been
// reloaded with the same serial number.
//
// # Concurrency
//
// The methods of [Provider] may be called from any goroutine. Each call opens its own connection.
package rfc2136

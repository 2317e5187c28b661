// Package rfc2136 is the provider for DNS servers that take dynamic updates (RFC 2136):
// BIND, Knot, PowerDNS, Windows and others. It lists zones by transfer (RFC 5936) and
// signs what it sends (TSIG, RFC 8945, or GSS-TSIG, RFC 3645); spec/dns.md §8.6.
//
// All changes of a name, and those of its ownership record, go out in one message, which
// a server makes as a whole or not at all. A message says what it relies on: that a
// record set to be made isn't there, that one to be replaced or deleted is as it was
// listed, that a name which is to have a CNAME has nothing else. So neither a change
// by somebody else since the listing nor the silent ignoring of RFC 2136 3.4.2.2 can do
// damage; what prerequisites can't say, because no list of types is complete, is asked
// for afterwards. A server refuses a whole message without saying why, so a message that
// was refused is halved until the names are known that are to blame.
//
// A transfer is skipped when the server says that the zone has the serial number of the
// last one, which came from the same server, and nothing was sent in between. Serials
// move with each update (RFC 2136 3.6); against zones that were loaded again by
// hand without a new one, a transfer happens every ten minutes anyway.
//
// # Concurrency
//
// The methods of [Provider] may be called from any goroutine; each call opens a
// connection of its own.
package rfc2136

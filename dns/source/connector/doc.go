// Package connector is the source "connector": records from a user's server over TCP (spec/dns.md
// §6.9). dns/plugins lists it.
//
// At each verification of records, the source connects to the server and reads one value in the
// encoding of encoding/gob: a slice of structs with the fields DNSName, Targets, RecordType,
// SetIdentifier, RecordTTL, Labels and ProviderSpecific. It sends nothing.
//
// If the server is unreachable or silent, or sends something else, more than 131,072 records or more
// than 16 MiB, that is an error, and the previous records stay.
package connector

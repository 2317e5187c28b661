// Package connector is the source "connector": records that a program of the user sends over
// TCP (spec/dns.md §6.9).
//
// Each time that records are verified, the source connects to the server and reads one value
// in the encoding of package encoding/gob: a slice of structs with the fields DNSName,
// Targets, RecordType, SetIdentifier, RecordTTL, Labels and ProviderSpecific. It sends
// nothing. [Decode] is the part that reads.
//
// dns/plugins registers it. It is an error if the server can't be reached, is silent for too
// long, sends too much, or sends something else. Then the previous records stay.
//
// # Concurrency
//
// See package source.
package connector

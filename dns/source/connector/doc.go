// Package connector is the source "connector": records that a program of the user's
// sends over TCP (spec/dns.md §6.9).
//
// Each time that records are verified, the source dials the server and reads one value
// in the encoding of package encoding/gob: a slice of structs with the fields DNSName,
// Targets, RecordType, SetIdentifier, RecordTTL, Labels and ProviderSpecific. It sends
// nothing. [Decode] is the reading part.
//
// dns/plugins registers it. A server that can't be reached, that is silent for too long,
// or that sends too much or something else is an error, after which what it sent before
// stays.
//
// # Concurrency
//
// As package source says.
package connector

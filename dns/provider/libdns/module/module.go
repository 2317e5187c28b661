// Package module says what the provider libdns has to know of a module of libdns
// (github.com/libdns), beyond the interfaces of libdns, to use it without harm.
//
// Each package below dns/provider/libdns/modules describes one module with a [Module]. The
// provider reads it.
//
// # Concurrency
//
// A Module isn't changed after it was made.
package module

import (
	"net/http"

	"github.com/libdns/libdns"
)

// Client is what a module has to implement. One that implements [libdns.ZoneLister], too, lists
// its zones.
type Client interface {
	libdns.RecordGetter
	libdns.RecordAppender
	libdns.RecordSetter
	libdns.RecordDeleter
}

// Module describes a module of libdns.
type Module struct {
	// Name is the value of --libdns-name.
	Name string
	// New returns a client without settings: a pointer to a struct with the settings as its JSON
	// fields.
	New func() Client
	// Required are the JSON names of the settings that may not be empty. A list of names in one
	// string, with | between them, stands for any one of them.
	Required []string
	// Types are the types of record sets that were seen to come back as they were written.
	Types []string
	// TTL returns the TTL, in seconds, that the module and its service make of one that they are
	// asked for; see [AtLeast].
	TTL func(seconds int64) int64
	// Setting says what SetRecords is good for.
	Setting Setting
	// Texts says in which form the module has the texts of TXT records.
	Texts Texts
	// Hosts says in which form the module wants the names in data.
	Hosts Hosts
	// Denied is what an error says if the credentials are wrong, and the server answers with a
	// status of success nevertheless; empty is for none.
	Denied string
	// Reads reports whether a request changes nothing; nil is for GET and HEAD.
	Reads func(*http.Request) bool
}

// Setting says what SetRecords of a module is good for.
type Setting int

const (
	// SetsNothing is for a module that doesn't replace the records of one name and type by those
	// that it is given, as libdns asks for.
	SetsNothing Setting = iota
	// SetsWithGap is for a module that deletes the records first, so that there are none for a
	// moment.
	SetsWithGap
	// SetsAtOnce is for a module that replaces them with one request.
	SetsAtOnce
)

// Texts is a form of the texts of TXT records.
type Texts int

const (
	// PlainTexts are without quotes and escapes, as libdns asks for.
	PlainTexts Texts = iota
	// QuotedTexts are written in quotes and with escapes, and read with escapes and without the
	// quotes at the ends, however many there are.
	QuotedTexts
)

// Hosts is a form of the names of hosts in the data of records.
type Hosts int

const (
	// DottedHosts end with a dot, as in a zone file.
	DottedHosts Hosts = iota
	// BareHosts have no dot at their end.
	BareHosts
)

// AtLeast returns a function for [Module].TTL that raises TTLs to a least one.
func AtLeast(least int64) func(int64) int64 {
	return func(seconds int64) int64 { return max(seconds, least) }
}

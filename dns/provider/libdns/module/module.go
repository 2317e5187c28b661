// Package module describes the behaviour of a module of libdns (github.com/libdns) that the
// interfaces of libdns leave open.
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

// Client is the interface of a module. A module that also implements [libdns.ZoneLister] lists its
// zones.
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
	// Required are the JSON names of the required settings. Of names in one string, separated by |,
	// one is required.
	Required []string
	// Types are the types of record sets that the module lists as they were written.
	Types []string
	// TTL returns the TTL in seconds that the service stores for a requested one; see [AtLeast].
	TTL func(seconds int64) int64
	// Replacing is how SetRecords replaces records.
	Replacing Replacing
	// Texts is the format of the texts of TXT records.
	Texts Texts
	// Hosts is the format of host names in the data of records.
	Hosts Hosts
	// Denied is part of the error for wrong credentials, if the server responds with a success
	// status nevertheless; otherwise empty.
	Denied string
	// Reads reports whether a request changes nothing; nil means GET and HEAD.
	Reads func(*http.Request) bool
}

// Replacing is how SetRecords of a module replaces the records of a name and type.
type Replacing int

const (
	// NotReplacing: SetRecords doesn't replace all records of a name and type, as libdns requires.
	NotReplacing Replacing = iota
	// ReplacingWithGap: the old records are deleted first, so there are none for a moment.
	ReplacingWithGap
	// ReplacingAtOnce: one request replaces the records.
	ReplacingAtOnce
)

// Texts is a format of the texts of TXT records.
type Texts int

const (
	// PlainTexts have no quotes and escapes, as libdns requires.
	PlainTexts Texts = iota
	// QuotedTexts are written with quotes and escapes. They are read with escapes, but without any
	// quotes at the ends.
	QuotedTexts
)

// Hosts is a format of host names in the data of records.
type Hosts int

const (
	// DottedHosts end with a dot, as in zone files.
	DottedHosts Hosts = iota
	// BareHosts don't end with a dot.
	BareHosts
)

// AtLeast returns a function for [Module].TTL that raises TTLs to a minimum.
func AtLeast(least int64) func(int64) int64 {
	return func(seconds int64) int64 { return max(seconds, least) }
}

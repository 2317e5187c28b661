package history

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/fxamacker/cbor/v2"
)

// Kind is the kind of change.
type Kind uint8

// The kinds.
const (
	// Sent: streams were sent endpoints or a resource of a Service.
	Sent Kind = iota + 1
	// Record: a record set of a zone was changed.
	Record
	// Written: Endpoints or an EndpointSlice of a Service was written.
	Written
)

// Action is the kind of action.
type Action uint8

// The actions.
const (
	Created Action = iota + 1
	Updated
	Deleted
	// Failed: the change was tried and refused.
	Failed
	// External: another writer changed the object.
	External
)

// The limits of an entry. Longer lists and texts are truncated.
const (
	// MaxAddresses limits each list of addresses.
	MaxAddresses = 32
	// maxTexts limits each list of texts, and maxText a text in bytes.
	maxTexts, maxText = 16, 200
)

// Entry is a change. Fields that don't apply to its kind are zero.
type Entry struct {
	// At is the time; zero means now.
	At     time.Time `cbor:"-"`
	Kind   Kind      `cbor:"1,keyasint,omitempty"`
	Action Action    `cbor:"2,keyasint,omitempty"`

	// Port is the port in the query of streams. Streams is the number of streams, and Places the number of
	// nodes and zones of their clients. Endpoints is the number of endpoints after the change, or of ready
	// addresses of a written object. NotReady is the number of its other addresses.
	Port      int `cbor:"3,keyasint,omitempty"`
	Streams   int `cbor:"4,keyasint,omitempty"`
	Places    int `cbor:"5,keyasint,omitempty"`
	Endpoints int `cbor:"6,keyasint,omitempty"`
	NotReady  int `cbor:"7,keyasint,omitempty"`
	// MoreAdded, MoreChanged and MoreRemoved are the numbers of addresses that the truncated lists lack.
	MoreAdded   int `cbor:"8,keyasint,omitempty"`
	MoreChanged int `cbor:"9,keyasint,omitempty"`
	MoreRemoved int `cbor:"10,keyasint,omitempty"`
	// MoreOld and MoreNew are the numbers of texts that Old and New lack; [Log.Add] sets them.
	MoreOld int `cbor:"11,keyasint,omitempty"`
	MoreNew int `cbor:"12,keyasint,omitempty"`
	TTL     int `cbor:"13,keyasint,omitempty"`

	// Source is the role, publisher or controller that made the change.
	Source string `cbor:"14,keyasint,omitempty"`
	// Hostname is the hostname in the query of streams, if any. ClientZone and ClientNode are the zone and
	// node of the clients, if all are the same.
	Hostname   string `cbor:"15,keyasint,omitempty"`
	ClientZone string `cbor:"16,keyasint,omitempty"`
	ClientNode string `cbor:"17,keyasint,omitempty"`
	// Object is the kind and name of the written object, or the name of a resource. Zone, Type and
	// SetIdentifier identify a record set.
	Object        string `cbor:"18,keyasint,omitempty"`
	Zone          string `cbor:"19,keyasint,omitempty"`
	Type          string `cbor:"20,keyasint,omitempty"`
	SetIdentifier string `cbor:"21,keyasint,omitempty"`
	// By is the field manager of an external change. Reason is the cause of a failure.
	By     string `cbor:"22,keyasint,omitempty"`
	Reason string `cbor:"23,keyasint,omitempty"`

	// Added, Changed and Removed are addresses, at most MaxAddresses each.
	Added   []netip.AddrPort `cbor:"24,keyasint,omitempty"`
	Changed []netip.AddrPort `cbor:"25,keyasint,omitempty"`
	Removed []netip.AddrPort `cbor:"26,keyasint,omitempty"`
	// Old and New are targets. Objects are the objects that asked for the change, as KIND/NAMESPACE/NAME.
	Old     []string `cbor:"27,keyasint,omitempty"`
	New     []string `cbor:"28,keyasint,omitempty"`
	Objects []string `cbor:"29,keyasint,omitempty"`
}

// bounded returns the entry with lists and texts truncated at the limits.
func (e *Entry) bounded() Entry {
	b := *e
	b.MoreOld = max(0, e.MoreOld+max(0, len(e.Old)-maxTexts))
	b.MoreNew = max(0, e.MoreNew+max(0, len(e.New)-maxTexts))
	for _, text := range []*string{&b.Source, &b.Hostname, &b.ClientZone, &b.ClientNode, &b.Object, &b.Zone, &b.Type, &b.SetIdentifier, &b.By, &b.Reason} {
		*text = boundedText(*text)
	}
	for _, list := range []*[]netip.AddrPort{&b.Added, &b.Changed, &b.Removed} {
		*list = (*list)[:min(len(*list), MaxAddresses)]
	}
	for _, list := range []*[]string{&b.Old, &b.New, &b.Objects} {
		*list = slices.Clone((*list)[:min(len(*list), maxTexts)])
		for i, text := range *list {
			(*list)[i] = boundedText(text)
		}
	}
	return b
}

func boundedText(text string) string { return strings.ToValidUTF8(text[:min(len(text), maxText)], "") }

// append encodes the entry: the milliseconds since first, and the rest as CBOR.
func (e *Entry) append(b []byte, first int64) []byte {
	b = binary.AppendVarint(b, e.At.UnixMilli()-first)
	// An entry can always be encoded.
	text, _ := cbor.Marshal(e.bounded())
	return append(b, text...)
}

// read decodes the first entry of b and returns the rest; nil if b isn't a result of append.
func (e *Entry) read(b []byte, first int64) []byte {
	at, n := binary.Varint(b)
	if n <= 0 {
		return nil
	}
	rest, err := cbor.UnmarshalFirst(b[n:], e)
	if err != nil {
		return nil
	}
	e.At = time.UnixMilli(first + at)
	return rest
}

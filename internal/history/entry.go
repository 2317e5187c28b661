package history

import (
	"encoding/binary"
	"net/netip"
	"strings"
	"time"
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
	At     time.Time
	Kind   Kind
	Action Action

	// Port is the port in the query of streams. Streams is the number of streams, and Places the number of
	// nodes and zones of their clients. Endpoints is the number of endpoints after the change, or of ready
	// addresses of a written object. NotReady is the number of its other addresses.
	Port, Streams, Places, Endpoints, NotReady int
	// MoreAdded, MoreChanged and MoreRemoved are the numbers of addresses that the truncated lists lack.
	MoreAdded, MoreChanged, MoreRemoved int
	// MoreOld and MoreNew are the numbers of texts that Old and New lack; [Log.Add] sets them.
	MoreOld, MoreNew, TTL int

	// Source is the role, publisher or controller that made the change.
	Source string
	// Hostname is the hostname in the query of streams, if any. ClientZone and ClientNode are the zone and
	// node of the clients, if all are the same.
	Hostname, ClientZone, ClientNode string
	// Object is the kind and name of the written object, or the name of a resource. Zone, Type and
	// SetIdentifier identify a record set.
	Object, Zone, Type, SetIdentifier string
	// By is the field manager of an external change. Reason is the cause of a failure.
	By, Reason string

	// Added, Changed and Removed are addresses, at most MaxAddresses each.
	Added, Changed, Removed []netip.AddrPort
	// Old and New are targets. Objects are the objects that asked for the change, as KIND/NAMESPACE/NAME.
	Old, New, Objects []string
}

func (e *Entry) numbers() [11]*int {
	return [...]*int{&e.Port, &e.Streams, &e.Places, &e.Endpoints, &e.NotReady, &e.MoreAdded, &e.MoreChanged, &e.MoreRemoved, &e.MoreOld, &e.MoreNew, &e.TTL}
}

func (e *Entry) texts() [10]*string {
	return [...]*string{&e.Source, &e.Hostname, &e.ClientZone, &e.ClientNode, &e.Object, &e.Zone, &e.Type, &e.SetIdentifier, &e.By, &e.Reason}
}

func (e *Entry) addresses() [3]*[]netip.AddrPort {
	return [...]*[]netip.AddrPort{&e.Added, &e.Changed, &e.Removed}
}

func (e *Entry) lists() [3]*[]string { return [...]*[]string{&e.Old, &e.New, &e.Objects} }

// bound truncates lists and texts that are too long.
func (e *Entry) bound() {
	e.MoreOld += max(0, len(e.Old)-maxTexts)
	e.MoreNew += max(0, len(e.New)-maxTexts)
	for _, n := range e.numbers() {
		*n = max(0, *n)
	}
	for _, list := range e.addresses() {
		*list = (*list)[:min(len(*list), MaxAddresses)]
	}
	for _, list := range e.lists() {
		*list = (*list)[:min(len(*list), maxTexts)]
	}
}

// append encodes the entry, with times relative to first. A bit set precedes the fields that aren't zero.
func (e *Entry) append(b []byte, first int64) []byte {
	e.bound()
	b = append(b, byte(e.Kind)|byte(e.Action)<<4)
	b = binary.AppendVarint(b, e.At.UnixMilli()-first)
	b = binary.AppendUvarint(b, e.present())
	for _, n := range e.numbers() {
		if *n != 0 {
			b = binary.AppendUvarint(b, uint64(*n))
		}
	}
	for _, text := range e.texts() {
		if *text != "" {
			b = appendText(b, *text)
		}
	}
	for _, list := range e.addresses() {
		if len(*list) > 0 {
			b = binary.AppendUvarint(b, uint64(len(*list)))
			for _, a := range *list {
				b = appendAddress(b, a)
			}
		}
	}
	for _, list := range e.lists() {
		if len(*list) > 0 {
			b = binary.AppendUvarint(b, uint64(len(*list)))
			for _, text := range *list {
				b = appendText(b, text)
			}
		}
	}
	return b
}

// present has a bit for each field that isn't zero.
func (e *Entry) present() (bits uint64) {
	at := 0
	note := func(is bool) {
		if is {
			bits |= 1 << at
		}
		at++
	}
	for _, n := range e.numbers() {
		note(*n != 0)
	}
	for _, text := range e.texts() {
		note(*text != "")
	}
	for _, list := range e.addresses() {
		note(len(*list) > 0)
	}
	for _, list := range e.lists() {
		note(len(*list) > 0)
	}
	return bits
}

func appendText(b []byte, text string) []byte {
	text = text[:min(len(text), maxText)]
	b = binary.AppendUvarint(b, uint64(len(text)))
	return append(b, text...)
}

func appendAddress(b []byte, a netip.AddrPort) []byte {
	switch ip := a.Addr().Unmap(); {
	case ip.Is4():
		four := ip.As4()
		b = append(append(b, byte(len(four))), four[:]...)
	case ip.Is6():
		sixteen := ip.As16()
		b = append(append(b, byte(len(sixteen))), sixteen[:]...)
	default:
		b = append(b, 0)
	}
	return binary.AppendUvarint(b, uint64(a.Port()))
}

// read decodes the first entry of b and returns the rest; nil if b isn't a result of append.
func (e *Entry) read(b []byte, first int64) []byte {
	r := reader{rest: b}
	head := r.bytes(1)
	if r.failed {
		return nil
	}
	e.Kind, e.Action = Kind(head[0]&15), Action(head[0]>>4)
	at, n := binary.Varint(r.rest)
	if n <= 0 {
		return nil
	}
	r.rest = r.rest[n:]
	e.At = time.UnixMilli(first + at)
	bits := r.number()
	has := func() bool {
		is := bits&1 != 0
		bits >>= 1
		return is
	}
	for _, n := range e.numbers() {
		if has() {
			*n = int(r.number())
		}
	}
	for _, text := range e.texts() {
		if has() {
			*text = r.text()
		}
	}
	for _, list := range e.addresses() {
		if has() {
			for i := r.number(); i > 0 && !r.failed; i-- {
				*list = append(*list, r.address())
			}
		}
	}
	for _, list := range e.lists() {
		if has() {
			for i := r.number(); i > 0 && !r.failed; i-- {
				*list = append(*list, r.text())
			}
		}
	}
	if r.failed {
		return nil
	}
	return r.rest
}

// reader reads what append wrote.
type reader struct {
	rest   []byte
	failed bool
}

func (r *reader) bytes(n int) []byte {
	if n < 0 || n > len(r.rest) {
		r.failed = true
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) number() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.failed = true
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// text reads a text as valid UTF-8, because the text may be truncated in the middle of a character.
func (r *reader) text() string {
	n := r.number()
	if n > maxText {
		r.failed = true
		return ""
	}
	return strings.ToValidUTF8(string(r.bytes(int(n))), "")
}

func (r *reader) address() netip.AddrPort {
	size := r.bytes(1)
	if r.failed {
		return netip.AddrPort{}
	}
	ip, _ := netip.AddrFromSlice(r.bytes(int(size[0])))
	return netip.AddrPortFrom(ip, uint16(r.number()))
}

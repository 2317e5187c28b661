package xds

import (
	"net/netip"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/signpostd/signpost/catalog"
)

// existence says whether a resource can be sent.
type existence uint8

const (
	exists existence = iota
	// pending: its endpoints are in a linked cluster that isn't synced yet. Nothing is sent.
	pending
	// missing: there is no such resource. Delta streams are told so.
	missing
)

// frame is one version of a resource. It is immutable, and the streams that send it share its bytes.
type frame struct {
	existence existence
	name      string
	version   string
	// wire is the resource as google.protobuf.Any, without a tag.
	wire []byte
	// kind says which property of a client decides about its view of the endpoints.
	kind catalog.FilterKind
	// visibleTo are the namespaces whose clients may see the Service, as in [catalog.TrafficPolicy].
	visibleTo string
	// plain is what a client gets that has rejected this version; nil for the same as before.
	plain *frame
	made  time.Time
	// usable are the endpoints of a ClusterLoadAssignment that clients may use.
	usable []netip.AddrPort
	// used is true for a Listener, Cluster or routes of a Service.
	used bool

	// full is the resource as field of a DiscoveryResponse, with its version and type behind it if single says so.
	full mem.SliceBuffer
	// part is the resource as field of a DeltaDiscoveryResponse, made when a stream needs it first.
	once sync.Once
	part mem.SliceBuffer
}

// The field numbers of DiscoveryResponse, DeltaDiscoveryResponse and Resource. Those of both responses are equal where
// the fields are.
const (
	fieldVersion   = protowire.Number(1)
	fieldResources = protowire.Number(2)
	fieldTypeURL   = protowire.Number(4)
	fieldNonce     = protowire.Number(5)
	fieldRemoved   = protowire.Number(6)

	fieldResourceVersion = protowire.Number(1)
	fieldResourceAny     = protowire.Number(2)
	fieldResourceName    = protowire.Number(3)
)

// newFrame returns the frame of a resource that exists.
func newFrame(typ resourceType, name, version string, wire []byte) *frame {
	f := &frame{name: name, version: version, wire: wire, made: time.Now()}
	f.full = make(mem.SliceBuffer, 0, len(wire)+96)
	f.full = appendBytes(f.full, fieldResources, wire)
	if typ.single() {
		f.full = appendHead(f.full, version, typ)
	}
	return f
}

// appendHead appends the version and the type of a response.
func appendHead(b []byte, version string, typ resourceType) []byte {
	b = appendBytes(b, fieldVersion, []byte(version))
	return appendBytes(b, fieldTypeURL, []byte(typ.url()))
}

func appendBytes(b []byte, field protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), v)
}

// delta returns the resource as a field of a DeltaDiscoveryResponse.
func (f *frame) delta() mem.SliceBuffer {
	f.once.Do(func() {
		size := protowire.SizeTag(fieldResourceVersion) + protowire.SizeBytes(len(f.version)) +
			protowire.SizeTag(fieldResourceAny) + protowire.SizeBytes(len(f.wire)) +
			protowire.SizeTag(fieldResourceName) + protowire.SizeBytes(len(f.name))
		b := make([]byte, 0, size+8)
		b = protowire.AppendTag(b, fieldResources, protowire.BytesType)
		b = protowire.AppendVarint(b, uint64(size))
		b = appendBytes(b, fieldResourceVersion, []byte(f.version))
		b = appendBytes(b, fieldResourceAny, f.wire)
		f.part = appendBytes(b, fieldResourceName, []byte(f.name))
	})
	return f.part
}

// response is an encoded response: shared bytes of frames, and a tail of its own.
type response struct{ bytes mem.BufferSlice }

// Encoded implements [precoded.Message].
func (r *response) Encoded() mem.BufferSlice { return r.bytes }

// size returns the length in bytes.
func (r *response) size() int { return r.bytes.Len() }

// singleResponse returns the response with one resource of a type whose responses have one each.
func singleResponse(f *frame, nonce uint64) *response {
	return &response{mem.BufferSlice{f.full, nonceField(nil, nonce)}}
}

// wholeResponse returns the response with all resources of a type.
func wholeResponse(typ resourceType, frames []*frame, version string, nonce uint64) *response {
	r := &response{make(mem.BufferSlice, 0, len(frames)+1)}
	for _, f := range frames {
		r.bytes = append(r.bytes, f.full)
	}
	r.bytes = append(r.bytes, nonceField(appendHead(nil, version, typ), nonce))
	return r
}

// deltaResponse returns the response with changed resources and the names of missing ones.
func deltaResponse(typ resourceType, frames []*frame, removed []string, nonce uint64) *response {
	r := &response{make(mem.BufferSlice, 0, len(frames)+1)}
	for _, f := range frames {
		r.bytes = append(r.bytes, f.delta())
	}
	tail := appendBytes(nil, fieldTypeURL, []byte(typ.url()))
	for _, name := range removed {
		tail = appendBytes(tail, fieldRemoved, []byte(name))
	}
	r.bytes = append(r.bytes, nonceField(tail, nonce))
	return r
}

// nonceField appends a nonce. Fields may come in any order, so it is at the end of each response.
func nonceField(b []byte, nonce uint64) mem.SliceBuffer {
	return mem.SliceBuffer(appendBytes(b, fieldNonce, []byte(nonceText(nonce))))
}

// nonceText returns a nonce as it is sent; none is empty.
func nonceText(nonce uint64) string {
	if nonce == 0 {
		return ""
	}
	return strconv.FormatUint(nonce, 36)
}

// nonceFrom returns the nonce that a text is; 0 for none of ours.
func nonceFrom(text string) uint64 {
	n, err := strconv.ParseUint(text, 36, 64)
	if err != nil || nonceText(n) != text {
		return 0
	}
	return n
}

package xds

import (
	"crypto/rand"
	"net/netip"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/xds/resource"
)

// frame is one version of a resource, encoded. Frames are immutable, and streams share their bytes.
// A frame without Wire is not sent.
type frame struct {
	resource.Resource
	// missing is true if the resource doesn't exist. Delta responses name it as removed. Endpoints
	// in a linked cluster that isn't synced yet have no Wire, but may exist.
	missing   bool
	filters   *catalog.Filters // choose the view of the endpoints for each client; nil for other resources
	visibleTo string           // as in [catalog.TrafficPolicy]
	plain     *frame           // for clients that have rejected this one; nil for none
	made      time.Time
	usable    []netip.AddrPort // the endpoints that clients may use, sorted
	ofService bool             // a Listener, Cluster or routes of a Service

	// full is the resource as a field of a DiscoveryResponse. For types with one resource in a
	// response, the version and the type follow it.
	full mem.SliceBuffer
	// part returns the resource as a field of a DeltaDiscoveryResponse, encoded for the first stream
	// that needs it.
	part func() *mem.SliceBuffer
}

// The field numbers of DiscoveryResponse, DeltaDiscoveryResponse and Resource. Those of both
// responses are equal where the fields are.
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

func frameOf(r resource.Resource) *frame {
	f := &frame{Resource: r, made: time.Now()}
	f.full = make(mem.SliceBuffer, 0, len(f.Wire)+96)
	f.full = appendBytes(f.full, fieldResources, f.Wire)
	if r.Type.Single() {
		f.full = appendHead(f.full, f.Version, r.Type)
	}
	f.part = sync.OnceValue(func() *mem.SliceBuffer {
		b := appendBytes(nil, fieldResourceVersion, f.Version)
		b = appendBytes(b, fieldResourceName, f.Name)
		part := mem.SliceBuffer(appendBytes(nil, fieldResources, appendBytes(b, fieldResourceAny, f.Wire)))
		return &part
	})
	return f
}

const addrPortSize = 32 // the memory of a netip.AddrPort in bytes

// size returns the memory of the frame in bytes.
func (f *frame) size() int {
	size := len(f.Wire) + len(f.full) + addrPortSize*len(f.usable)
	if f.plain != nil {
		size += f.plain.size()
	}
	return size
}

// appendHead appends the version and the type of a response.
func appendHead(b []byte, version string, typ resourceType) []byte {
	b = appendBytes(b, fieldVersion, version)
	return appendBytes(b, fieldTypeURL, typ.URL())
}

func appendBytes[T string | []byte](b []byte, field protowire.Number, v T) []byte {
	b = protowire.AppendVarint(protowire.AppendTag(b, field, protowire.BytesType), uint64(len(v)))
	return append(b, v...)
}

// newResponse returns the encoded response with these resources, the encoded fields more, and a
// nonce, which protobuf allows behind the resources.
func newResponse(variant string, items []item, more []byte, nonce string) mem.BufferSlice {
	r := make(mem.BufferSlice, 0, len(items)+1)
	for _, i := range items {
		if variant == variantSotW {
			r = append(r, &i.frame.full)
		} else {
			r = append(r, i.frame.part())
		}
	}
	// The last response may still be on its way with more, so it is copied.
	return append(r, mem.SliceBuffer(appendBytes(slices.Clip(more), fieldNonce, nonce)))
}

// newNonce returns a nonce of 65 random bits. A client can't guess it, so one that returns it has read
// the response, and the next one won't block.
func newNonce() string { return rand.Text()[:13] }

package xds

import (
	"crypto/rand"
	"net/netip"
	"time"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/precoded"
	"github.com/signpostd/signpost/xds/resource"
)

// frame is one version of a resource, encoded. Frames are immutable, and streams share their bytes.
// A frame without Wire is not sent.
type frame struct {
	resource.Resource
	// head has the fields of a delta response before Wire: the beginning of a Resource, with its
	// version and name.
	head mem.SliceBuffer
	// missing is true if the resource doesn't exist. Delta responses name it as removed. Endpoints
	// in a linked cluster that isn't synced yet have no Wire, but may exist.
	missing   bool
	filters   *catalog.Filters // choose the view of the endpoints for each client; nil for other resources
	visibleTo string           // as in [catalog.TrafficPolicy]
	plain     *frame           // for clients that have rejected this one; nil for none
	made      time.Time        // when the oldest change in it became known
	usable    []netip.AddrPort // the endpoints that clients may use, sorted
	ofService bool             // a Listener, Cluster or routes of a Service
}

// The field numbers of DiscoveryResponse, DeltaDiscoveryResponse and Resource. Fields that both
// responses have get the same number.
const (
	fieldVersion   = protowire.Number(1)
	fieldResources = protowire.Number(2)
	fieldTypeURL   = protowire.Number(4)
	fieldNonce     = protowire.Number(5)
	fieldRemoved   = protowire.Number(6)

	fieldResourceVersion = protowire.Number(1)
	fieldResourceName    = protowire.Number(3)
)

func (v *view) frameOf(r resource.Resource) *frame {
	fields := appendIdentity(nil, r)
	head := protowire.AppendTag(nil, fieldResources, protowire.BytesType)
	head = protowire.AppendVarint(head, uint64(len(fields)+len(r.Wire)))
	return &frame{Resource: r, head: append(head, fields...), made: v.outdated}
}

// appendIdentity appends the name and the version of a Resource.
func appendIdentity(b []byte, r resource.Resource) []byte {
	return precoded.Append(precoded.Append(b, fieldResourceName, r.Name), fieldResourceVersion, r.Version)
}

const addrPortSize = 32 // the memory of a netip.AddrPort in bytes

// size returns the memory of the frame in bytes; 0 for nil.
func (f *frame) size() int {
	if f == nil {
		return 0
	}
	return len(f.head) + len(f.Wire) + addrPortSize*len(f.usable) + f.plain.size()
}

// newResponse returns an encoded response. The version is that of a SotW response with any number
// of resources. The fields behind the resources belong to the stream: protobuf allows any order.
func (s *stream) newResponse(typ resourceType, version string, items []item, removed []string) mem.BufferSlice {
	r := make(mem.BufferSlice, 0, 2*len(items)+1)
	tail := precoded.Append(make([]byte, 0, 128), fieldTypeURL, typ.URL())
	for _, i := range items {
		if s.variant == variantDelta {
			r = append(r, &i.frame.head)
		}
		if r = append(r, (*mem.SliceBuffer)(&i.frame.Wire)); typ.Single() {
			version = i.frame.Version
		}
	}
	if s.variant == variantSotW {
		tail = precoded.Append(tail, fieldVersion, version)
	}
	for _, name := range removed {
		tail = precoded.Append(tail, fieldRemoved, name)
	}
	return append(r, mem.SliceBuffer(precoded.Append(tail, fieldNonce, s.nonce)))
}

// newNonce returns a nonce of 65 random bits. A client can't guess it. So a client that returns the
// nonce has read the response, and the next send won't block.
func newNonce() string { return rand.Text()[:13] }

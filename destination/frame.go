package destination

import (
	"bytes"
	"fmt"
	"slices"
	"unicode/utf8"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/signpostd/signpost/internal/precoded"
)

// frame is one encoded message. It is immutable, and shared by the streams that send it.
type frame struct {
	bytes mem.BufferSlice
	// added and removed count its endpoints, for the log and the traces.
	added, removed int32
}

// newFrame returns the message with these bytes, in one or more parts.
func newFrame(parts ...[]byte) *frame {
	f := &frame{bytes: make(mem.BufferSlice, 0, len(parts))}
	for i, part := range parts {
		if i == 0 || len(part) > 0 {
			f.bytes = append(f.bytes, mem.SliceBuffer(part))
		}
	}
	return f
}

// maxFrame bounds the size of a message. The gRPC client of the proxy refuses messages of more than 4 MiB.
// Larger sets are sent in several messages.
const maxFrame = 2 << 20

// The field numbers of the messages that are composed of encoded parts.
const (
	fieldUpdateAdd      = protowire.Number(1)
	fieldUpdateRemove   = protowire.Number(2)
	fieldSetAddrs       = protowire.Number(1) // of WeightedAddrSet and AddrSet
	fieldUpdateNoEndpts = protowire.Number(3)
	fieldSetLabels      = protowire.Number(2) // of WeightedAddrSet
	fieldAddrLabels     = protowire.Number(4) // of WeightedAddr
	fieldKey            = protowire.Number(1) // of an entry of a map
	fieldValue          = protowire.Number(2)
)

// addFrames returns the Update.add messages for the entries: one for each group of equal labels, several for
// a large group.
func addFrames(entries []*entry) []*frame {
	entries = byLabels(entries)
	var frames []*frame
	for len(entries) > 0 {
		labels := entries[0].labels
		n, size := 0, len(labels.wire)
		for n < len(entries) && (n == 0 || size+len(entries[n].wire) < maxFrame) && labels.same(entries[n].labels) {
			size += protowire.SizeTag(fieldSetAddrs) + protowire.SizeBytes(len(entries[n].wire))
			n++
		}
		b := make([]byte, 0, size+16)
		b = protowire.AppendTag(b, fieldUpdateAdd, protowire.BytesType)
		b = protowire.AppendVarint(b, uint64(size))
		for _, e := range entries[:n] {
			b = precoded.Append(b, fieldSetAddrs, e.wire)
		}
		f := newFrame(append(b, labels.wire...))
		f.added = int32(n)
		frames = append(frames, f)
		entries = entries[n:]
	}
	return frames
}

// byLabels groups the entries by equal labels. If all have the same labels, the order stays.
func byLabels(entries []*entry) []*entry {
	if !slices.ContainsFunc(entries, func(e *entry) bool { return !e.labels.same(entries[0].labels) }) {
		return entries
	}
	entries = slices.Clone(entries)
	slices.SortStableFunc(entries, func(a, b *entry) int { return bytes.Compare(a.labels.wire, b.labels.wire) })
	return entries
}

// removeFrames returns the Update.remove messages for the entries.
func removeFrames(entries []*entry) []*frame {
	var frames []*frame
	for len(entries) > 0 {
		n, set := 0, []byte(nil)
		for n < len(entries) && len(set) < maxFrame {
			set = precoded.Append(set, fieldSetAddrs, marshalNumbers(tcpAddress(entries[n].endpoint.Addr)))
			n++
		}
		f := newFrame(precoded.Append(nil, fieldUpdateRemove, set))
		f.removed = int32(n)
		frames = append(frames, f)
		entries = entries[n:]
	}
	return frames
}

// noEndpointsFrame returns the message for a Service without endpoints, which exists or not.
func noEndpointsFrame(exists bool) *frame {
	return newFrame(marshalNumbers(&pb.Update{Update: &pb.Update_NoEndpoints{NoEndpoints: &pb.NoEndpoints{Exists: exists}}}))
}

// marshal encodes deterministically, so that equal messages have equal bytes. Text that is not UTF-8 can't be
// encoded, but the API server stores it.
func marshal(m proto.Message) ([]byte, error) {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return nil, errNotUTF8(err)
	}
	return b, nil
}

func errNotUTF8(err error) error {
	return fmt.Errorf("can't be sent to proxies: %w; write the text of the object in UTF-8", err)
}

// marshalAddr encodes an address as marshal does, except that its labels come last. It takes the labels from
// w.
func marshalAddr(w *pb.WeightedAddr) ([]byte, error) {
	labels := w.MetricLabels
	w.MetricLabels = nil
	b := make([]byte, 0, proto.Size(w)+sizeOfLabels(labels))
	b, err := proto.MarshalOptions{Deterministic: true}.MarshalAppend(b, w)
	if err != nil {
		return nil, errNotUTF8(err)
	}
	return appendLabels(b, fieldAddrLabels, labels)
}

// appendLabels appends a field of labels in the order of their names. proto does so by reflection, which
// takes half of the time and of the garbage of an address.
func appendLabels(b []byte, field protowire.Number, labels map[string]string) ([]byte, error) {
	names := make([]string, 0, maxAddrLabels)
	for name, value := range labels {
		if !utf8.ValidString(name) || !utf8.ValidString(value) {
			return nil, errNotUTF8(fmt.Errorf("label %q has the value %q", name, value))
		}
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		b = protowire.AppendTag(b, field, protowire.BytesType)
		b = protowire.AppendVarint(b, uint64(sizeOfLabel(name, labels[name])))
		b = precoded.Append(precoded.Append(b, fieldKey, name), fieldValue, labels[name])
	}
	return b, nil
}

// maxAddrLabels is the most labels that an address has.
const maxAddrLabels = 8

// sizeOfLabels returns the size of what appendLabels appends, in bytes.
func sizeOfLabels(labels map[string]string) (size int) {
	for name, value := range labels {
		size += protowire.SizeTag(fieldAddrLabels) + protowire.SizeBytes(sizeOfLabel(name, value))
	}
	return size
}

func sizeOfLabel(name, value string) int {
	return protowire.SizeTag(fieldKey) + protowire.SizeBytes(len(name)) + protowire.SizeTag(fieldValue) + protowire.SizeBytes(len(value))
}

// marshalNumbers encodes a message without text, which never fails.
func marshalNumbers(m proto.Message) []byte {
	b, _ := marshal(m)
	return b
}

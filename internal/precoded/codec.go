// Package precoded sends gRPC messages that are already encoded, so that the streams of a server
// share one encoding. The gRPC servers of the roles destination and xds use its codec, and compose
// their messages of encoded parts with [Append].
//
// # Concurrency
//
// A codec has no state, and may be used concurrently.
package precoded

import (
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // registers the codec that Codec embeds
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// Codec is the proto codec of gRPC, except that it sends a *[mem.BufferSlice], which is an encoded
// message, and receives a [Raw] unchanged. gRPC frees the buffers once it has sent them, which is
// nothing for a [mem.SliceBuffer], so that many streams can send it. Make it with [NewCodec].
type Codec struct{ encoding.CodecV2 }

// NewCodec returns a codec.
func NewCodec() Codec { return Codec{encoding.GetCodecV2("proto")} }

// Marshal implements [encoding.CodecV2].
func (c Codec) Marshal(v any) (mem.BufferSlice, error) {
	b, ok := v.(*mem.BufferSlice)
	if !ok {
		return c.CodecV2.Marshal(v)
	}
	return *b, nil
}

// Append appends a field with a text, bytes or an encoded message to a message.
func Append[T string | []byte](message []byte, field protowire.Number, v T) []byte {
	message = protowire.AppendVarint(protowire.AppendTag(message, field, protowire.BytesType), uint64(len(v)))
	return append(message, v...)
}

// Raw is a received message, encoded. A receiver that decodes the message itself needs less stack
// than one whose codec does that below all frames of grpc-go.
type Raw []byte

// Unmarshal implements [encoding.CodecV2].
func (c Codec) Unmarshal(data mem.BufferSlice, v any) error {
	if raw, ok := v.(*Raw); ok {
		*raw = data.Materialize()
		return nil
	}
	return c.CodecV2.Unmarshal(data, v)
}

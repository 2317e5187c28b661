package precoded

import (
	"testing"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// A BufferSlice is sent and a Raw is received unchanged. Other messages are encoded and decoded.
func TestCodec(t *testing.T) {
	codec := NewCodec()
	sent, err := codec.Marshal(&mem.BufferSlice{mem.SliceBuffer("not "), mem.SliceBuffer("protobuf")})
	if err != nil {
		t.Fatal(err)
	}
	var raw Raw
	if err := codec.Unmarshal(sent, &raw); err != nil || string(raw) != "not protobuf" {
		t.Errorf("%q, %v", raw, err)
	}
	if sent, err = codec.Marshal(wrapperspb.String("text")); err != nil {
		t.Fatal(err)
	}
	decoded := &wrapperspb.StringValue{}
	if err := codec.Unmarshal(sent, decoded); err != nil || !proto.Equal(decoded, wrapperspb.String("text")) {
		t.Errorf("%v, %v", decoded, err)
	}
}

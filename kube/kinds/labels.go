package kinds

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/signpostd/signpost/internal/object"
	"github.com/signpostd/signpost/internal/wire"
	"github.com/signpostd/signpost/kube"
)

// Labels returns the labels of an object. Objects that have the same labels share them, as
// strings are shared by [kube.Scope.Intern]: most pods have those of the others of their
// Deployment.
func Labels(s kube.Scope, m map[string]string) object.Labels {
	l := object.NewLabels(m)
	if len(l) == 0 {
		return l
	}
	var buffer [512]byte
	key := appendLabels(buffer[:0], l)
	if shared, ok := s.Shared(key); ok {
		return shared.(object.Labels)
	}
	for i := range l {
		l[i] = object.Label{Key: s.Intern(l[i].Key), Value: s.Intern(l[i].Value)}
	}
	return s.Share(key, l).(object.Labels)
}

// EncodedLabels is [Labels] for the fields "labels" of an object's metadata in protobuf: one
// after the other, each with its tag.
func EncodedLabels(s kube.Scope, fields []byte) (object.Labels, error) {
	if len(fields) == 0 {
		return nil, nil
	}
	if shared, ok := s.Shared(fields); ok {
		return shared.(object.Labels), nil
	}
	m := map[string]string{}
	r := wire.Read(fields)
	for r.Next(wire.Fields{Bytes: 1 << wire.MetadataLabels}) {
		key, value, err := wire.Entry(r.Bytes())
		if err != nil {
			return nil, err
		}
		m[string(key)] = string(value)
	}
	if r.Err() != nil {
		return nil, r.Err()
	}
	return Labels(s, m), nil
}

// appendLabels appends the fields "labels" of an object's metadata, as the API server sends
// them. Their tags are what tells them from the keys of other values that a scope shares.
func appendLabels(b []byte, l object.Labels) []byte {
	for _, label := range l {
		b = protowire.AppendTag(b, wire.MetadataLabels, protowire.BytesType)
		b = protowire.AppendVarint(b, uint64(2+protowire.SizeBytes(len(label.Key))+protowire.SizeBytes(len(label.Value))))
		b = protowire.AppendTag(b, 1, protowire.BytesType)
		b = protowire.AppendString(b, label.Key)
		b = protowire.AppendTag(b, 2, protowire.BytesType)
		b = protowire.AppendString(b, label.Value)
	}
	return b
}

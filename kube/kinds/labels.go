package kinds

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/signpostd/signpost/internal/objectmeta"
	"github.com/signpostd/signpost/internal/wire"
	"github.com/signpostd/signpost/kube"
)

// Labels returns the labels of an object. Objects with equal labels share one value through
// [kube.Scope.Share], because most pods have the labels of the other pods of their Deployment.
func Labels(s kube.Scope, m map[string]string) objectmeta.Labels {
	l, _ := shareLabels(s, m)
	return l
}

// shareLabels is Labels, but returns false if the labels exceed the limits. Those are not shared, so that
// shared labels need no further check.
func shareLabels(s kube.Scope, m map[string]string) (l objectmeta.Labels, fit bool) {
	l = objectmeta.NewLabels(m)
	if len(l) == 0 {
		return l, true
	}
	var buffer [512]byte
	key := appendLabels(buffer[:0], l)
	if shared, ok := s.Shared(key); ok {
		return shared.(objectmeta.Labels), true
	}
	for _, label := range l {
		if !fits(label.Key, labelKeyLimit) || !fits(label.Value, labelLimit) {
			return l, false
		}
	}
	for i := range l {
		l[i] = objectmeta.Label{Key: s.Intern(l[i].Key), Value: s.Intern(l[i].Value)}
	}
	return s.Share(key, l).(objectmeta.Labels), true
}

// EncodedLabels is [Labels] for labels in protobuf: the "labels" fields of an object's metadata, one after
// the other, each with its tag.
func EncodedLabels(s kube.Scope, fields []byte) (objectmeta.Labels, error) {
	if len(fields) == 0 {
		return nil, nil
	}
	if shared, ok := s.Shared(fields); ok {
		return shared.(objectmeta.Labels), nil
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

// appendLabels appends labels in protobuf, as the API server sends them. The result is the key of the labels
// in a scope. It starts with a tag that no other key starts with.
func appendLabels(b []byte, l objectmeta.Labels) []byte {
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

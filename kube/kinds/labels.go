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

// appendLabels appends labels as a key of a scope. The key starts with a tag that no other key starts with.
func appendLabels(b []byte, l objectmeta.Labels) []byte {
	b = protowire.AppendTag(b, wire.MetadataLabels, protowire.BytesType)
	for _, label := range l {
		b = protowire.AppendString(protowire.AppendString(b, label.Key), label.Value)
	}
	return b
}

package kube

import (
	"sync"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/wire"
)

// labelsField is the number of the field labels of a metav1.ObjectMeta.
const labelsField = 11

// Labels returns the labels of an object. Objects that have the same labels share them, as
// strings are shared by Intern: most pods have those of the others of their Deployment.
func (s Scope) Labels(m map[string]string) catalog.Labels {
	l := catalog.NewLabels(m)
	if s.labels == nil || len(l) == 0 {
		return l
	}
	return s.labels.of(l)
}

// EncodedLabels is Labels for the fields "labels" of an object's metadata in protobuf: one
// after the other, each with its tag.
func (s Scope) EncodedLabels(fields []byte) (catalog.Labels, error) {
	if len(fields) == 0 {
		return nil, nil
	}
	if l, ok := s.labels.known(fields); ok {
		return l, nil
	}
	m := map[string]string{}
	for len(fields) > 0 {
		f, rest, err := wire.Next(fields)
		if err != nil {
			return nil, err
		}
		key, value, err := wire.Entry(f.Bytes)
		if err != nil {
			return nil, err
		}
		m[string(key)], fields = string(value), rest
	}
	return s.Labels(m), nil
}

// labelSets are the sets of labels that objects have in common. It forgets as [interner]
// does, and may be used from any goroutine. A nil *labelSets knows none.
type labelSets struct {
	mu         sync.Mutex
	young, old map[string]catalog.Labels // by what they are in protobuf, sorted by key
	strings    *interner
	limit      int
	encoded    []byte
}

func newLabelSets(strings *interner, limit int) *labelSets {
	return &labelSets{young: map[string]catalog.Labels{}, strings: strings, limit: limit}
}

// known returns the labels that are encoded like this.
func (s *labelSets) known(encoded []byte) (catalog.Labels, bool) {
	if s == nil {
		return nil, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ok := s.young[string(encoded)]
	return l, ok
}

// of returns labels equal to l that are shared.
func (s *labelSets) of(l catalog.Labels) catalog.Labels {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.encoded = appendLabels(s.encoded[:0], l)
	if known, ok := s.young[string(s.encoded)]; ok {
		return known
	}
	key := string(s.encoded)
	known, ok := s.old[key]
	if !ok {
		known = make(catalog.Labels, len(l))
		for i := range l {
			known[i] = catalog.Label{Key: s.strings.intern(l[i].Key), Value: s.strings.intern(l[i].Value)}
		}
	}
	if len(s.young) >= s.limit {
		s.young, s.old = make(map[string]catalog.Labels, s.limit), s.young
	}
	s.young[key] = known
	return known
}

// appendLabels appends the fields "labels" of an object's metadata, as the API server sends
// them.
func appendLabels(b []byte, l catalog.Labels) []byte {
	for _, label := range l {
		b = protowire.AppendTag(b, labelsField, protowire.BytesType)
		b = protowire.AppendVarint(b, uint64(2+protowire.SizeBytes(len(label.Key))+protowire.SizeBytes(len(label.Value))))
		b = protowire.AppendTag(b, 1, protowire.BytesType)
		b = protowire.AppendString(b, label.Key)
		b = protowire.AppendTag(b, 2, protowire.BytesType)
		b = protowire.AppendString(b, label.Value)
	}
	return b
}

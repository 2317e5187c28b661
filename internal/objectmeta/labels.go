package objectmeta

import (
	"slices"
	"strings"
)

// Label is one label of an object.
type Label struct {
	Key, Value string
}

// Labels are the labels of an object, sorted by key. Build them with [NewLabels].
type Labels []Label

// NewLabels returns the labels of m.
func NewLabels(m map[string]string) Labels {
	if len(m) == 0 {
		return nil
	}
	l := make(Labels, 0, len(m))
	for k, v := range m {
		l = append(l, Label{k, v})
	}
	slices.SortFunc(l, func(a, b Label) int { return strings.Compare(a.Key, b.Key) })
	return l
}

// Get returns the value of the label, and whether there is one.
func (l Labels) Get(key string) (string, bool) {
	i, ok := slices.BinarySearchFunc(l, key, func(a Label, k string) int { return strings.Compare(a.Key, k) })
	if !ok {
		return "", false
	}
	return l[i].Value, true
}

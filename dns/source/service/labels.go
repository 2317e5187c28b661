package service

import (
	"maps"
	"slices"
	"strings"
)

// Encoding of a label: edge, its name, assigns, its value, edge. Names and values don't contain
// these characters. In the labels of a pod, ownName stands for a value that is the name of the pod,
// and ownOrdinal for the number at the end of that name.
const (
	edge       = "\x01"
	assigns    = "\x00"
	ownName    = "\x02"
	ownOrdinal = "\x03"
)

// podIndexLabel is on each pod of a StatefulSet.
const podIndexLabel = "apps.kubernetes.io/pod-index"

// labelText is the labels of a pod as one text, sorted; neighbours share an edge. The pods of a
// ReplicaSet or StatefulSet have equal texts, which share memory. Maps and slices couldn't.
type labelText string

// newLabelText returns the labels of a pod with a name, or "" if it has none.
func newLabelText(labels map[string]string, name string) labelText {
	if len(labels) == 0 {
		return ""
	}
	var text strings.Builder
	text.WriteString(edge)
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		text.WriteString(shorten(labelOf(key, labels[key]), name)[len(edge):])
	}
	return labelText(text.String())
}

func labelOf(key, value string) string { return edge + key + assigns + value + edge }

// shorten returns the form of a label for a pod with a name.
func shorten(label, name string) string {
	switch {
	case hasValue(label, name):
		return label[:len(label)-len(name)-len(edge)] + ownName + edge
	case strings.HasPrefix(label, edge+podIndexLabel+assigns) && hasValue(label, ordinal(name)):
		return edge + podIndexLabel + assigns + ownOrdinal + edge
	}
	return label
}

// lengthen is the inverse of shorten.
func lengthen(label, name string) string {
	if begin, ok := strings.CutSuffix(label, assigns+ownName+edge); ok {
		return begin + assigns + name + edge
	}
	if begin, ok := strings.CutSuffix(label, assigns+ownOrdinal+edge); ok {
		return begin + assigns + ordinal(name) + edge
	}
	return label
}

// hasValue reports whether the value of a label isn't empty.
func hasValue(label, value string) bool {
	rest := strings.TrimSuffix(strings.TrimSuffix(label, edge), value)
	return value != "" && len(rest)+len(value)+len(edge) == len(label) && strings.HasSuffix(rest, assigns)
}

// ordinal returns the text after the last hyphen of a name.
func ordinal(name string) string { return name[strings.LastIndexByte(name, '-')+1:] }

// eachLabel calls yield for each label of a pod, until it returns false.
func (p *pod) eachLabel(yield func(label string) bool) {
	text := string(p.labels)
	for begin := 0; begin < len(text)-1; {
		end := begin + 1 + strings.Index(text[begin+1:], edge)
		if !yield(lengthen(text[begin:end+1], p.name)) {
			return
		}
		begin = end
	}
}

// selector is the labels that a pod must have, sorted. An empty selector selects all pods
// (spec/dns.md §17.1).
type selector []string

func newSelector(labels map[string]string) selector {
	var s selector
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		s = append(s, labelOf(key, labels[key]))
	}
	return s
}

// selects reports whether a pod has all labels of a selector.
func (s selector) selects(p *pod) bool {
	for _, label := range s {
		if !strings.Contains(string(p.labels), shorten(label, p.name)) {
			return false
		}
	}
	return true
}

// indexLabel returns a label that all selected pods have, or "" if there is none. An index by it
// finds the selectors of a pod.
func (s selector) indexLabel() string {
	if len(s) == 0 {
		return ""
	}
	return s[0]
}

package dns

import "strings"

// suffixTree keeps values by canonical name so that those of all names that a name is in
// are found in as many steps as it has labels. The zero value is empty. It is read from
// any goroutine once it is filled.
type suffixTree[T any] struct {
	children map[string]*suffixTree[T]
	value    T
}

// path returns the nodes from the root to a name, making those that are missing.
func (t *suffixTree[T]) path(name string) []*suffixTree[T] {
	nodes := []*suffixTree[T]{t}
	for name != "" {
		var label string
		label, name = lastLabel(name)
		child := t.children[label]
		if child == nil {
			if t.children == nil {
				t.children = map[string]*suffixTree[T]{}
			}
			child = &suffixTree[T]{}
			t.children[label] = child
		}
		nodes, t = append(nodes, child), child
	}
	return nodes
}

// step goes on towards a name, of which there is left what rest says. The node is nil at
// the end of the tree, or of the name.
func (t *suffixTree[T]) step(name string) (node *suffixTree[T], rest string) {
	if name == "" {
		return nil, ""
	}
	label, rest := lastLabel(name)
	return t.children[label], rest
}

func lastLabel(name string) (label, rest string) {
	i := strings.LastIndexByte(name, '.')
	return name[i+1:], name[:max(i, 0)]
}

package dns

import "strings"

// suffixTree maps canonical names to values. It finds the values of a name and of all domains that
// contain it in as many steps as the name has labels. The zero value is empty. Once it is filled,
// it may be read from any goroutine.
type suffixTree[T any] struct {
	children map[string]*suffixTree[T]
	value    T
}

// path returns the nodes from the root to a name. It adds missing ones.
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

// step goes one label further towards a name, and returns the remaining labels. The node is nil
// where the tree or the name ends.
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

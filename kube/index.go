package kube

// index finds the objects of a table by keys of their values. The lock of the table guards it.
type index[T any] struct {
	keys func(*T) []string
	sets map[string]map[key]struct{}
}

// under returns the objects that are indexed under s. A nil index has none.
func (ix *index[T]) under(s string) map[key]struct{} {
	if ix == nil {
		return nil
	}
	return ix.sets[s]
}

// move indexes an object under the keys of its new value instead of its old one. Either value may be nil.
func (ix *index[T]) move(k key, old, new *T) {
	if old != nil {
		for _, s := range ix.keys(old) {
			ix.drop(s, k)
		}
	}
	if new == nil {
		return
	}
	for _, s := range ix.keys(new) {
		if ix.sets[s] == nil {
			ix.sets[s] = map[key]struct{}{}
		}
		ix.sets[s][k] = struct{}{}
	}
}

func (ix *index[T]) drop(s string, k key) {
	delete(ix.sets[s], k)
	if len(ix.sets[s]) == 0 {
		delete(ix.sets, s)
	}
}

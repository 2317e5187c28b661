package membership

import (
	"maps"
	"slices"

	"github.com/signpostd/signpost/catalog"
)

func sameSelector(a, b map[string]string) bool { return (a == nil) == (b == nil) && maps.Equal(a, b) }

func equal(a, b catalog.Labels) bool { return slices.Equal(a, b) }

// concerned returns the names of the Services in either list, or, unless content
// changed too, of those in one list only.
func concerned[W any](old, now []*service[W], content bool) []string {
	list := names(now)
	for _, s := range old {
		i := slices.Index(list, s.object.Name)
		switch {
		case i < 0:
			list = append(list, s.object.Name)
		case !content:
			list = slices.Delete(list, i, i+1)
		}
	}
	return list
}

func names[W any](services []*service[W]) []string {
	if len(services) == 0 {
		return nil
	}
	list := make([]string, len(services))
	for i, s := range services {
		list[i] = s.object.Name
	}
	return list
}

func add[T comparable](sets map[catalog.Label]map[T]struct{}, under catalog.Label, value T) {
	set := sets[under]
	if set == nil {
		set = map[T]struct{}{}
		sets[under] = set
	}
	set[value] = struct{}{}
}

func remove[T comparable](sets map[catalog.Label]map[T]struct{}, under catalog.Label, value T) {
	set := sets[under]
	delete(set, value)
	if len(set) == 0 {
		delete(sets, under)
	}
}

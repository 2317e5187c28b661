package source

import (
	"maps"
	"slices"

	"github.com/signpostd/signpost/kube"
)

// Keyed is a pointer to a struct that embeds [Object].
type Keyed[T any] interface {
	*T
	object() *Object
}

func (o *Object) object() *Object { return o }

// Notify makes the table of a source's own objects call changed for each that changes,
// unless it isn't selected before nor after.
func Notify[T any, P Keyed[T]](changed func(Key)) kube.TableOption[T] {
	return kube.WithHandler(func(old, new *T) {
		for _, value := range []*T{new, old} {
			if value == nil {
				continue
			}
			if o := P(value).object(); o.Selected {
				changed(o.Key)
				return
			}
		}
	})
}

// NotifyAll calls changed for some objects of a source's own table, such as those that
// [kube.Table.ByIndex] returns: those that depend on an object of another kind.
//
// A source keeps an index of its own objects by what they depend on, and the table of the
// other kind has a handler that looks there under the key of the object, and of what it
// was before. Both tables change before their handlers run, so that whichever comes
// later is evaluated with the other.
func NotifyAll[T any, P Keyed[T]](changed func(Key), objects []*T) {
	for _, value := range objects {
		if o := P(value).object(); o.Selected {
			changed(o.Key)
		}
	}
}

// SelectorKeys returns what an index is to file an object under that selects others of a
// namespace by their labels: one of the labels. An empty selector selects nothing.
func SelectorKeys(namespace string, selector map[string]string) []string {
	if len(selector) == 0 {
		return nil
	}
	name := slices.Min(slices.Collect(maps.Keys(selector)))
	return []string{labelKey(namespace, name, selector[name])}
}

// LabelKeys returns where the selectors that may select an object are in an index that
// uses [SelectorKeys]. Those found have to be asked: see [Selects].
func LabelKeys(namespace string, labels map[string]string) []string {
	keys := make([]string, 0, len(labels))
	for name, value := range labels {
		keys = append(keys, labelKey(namespace, name, value))
	}
	return keys
}

// labelKey joins its arguments by a byte that none of them has.
func labelKey(namespace, name, value string) string {
	return namespace + "\x00" + name + "\x00" + value
}

// Selects reports whether labels have all of a selector that isn't empty.
func Selects(selector, labels map[string]string) bool {
	for name, value := range selector {
		if has, ok := labels[name]; !ok || has != value {
			return false
		}
	}
	return len(selector) > 0
}

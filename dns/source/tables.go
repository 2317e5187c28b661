package source

import (
	"maps"
	"slices"

	"github.com/signpostd/signpost/internal/objectmeta"
	"github.com/signpostd/signpost/kube"
)

// Keyed is a pointer to a struct that embeds [Object].
type Keyed[T any] interface {
	*T
	object() *Object
}

func (o *Object) object() *Object { return o }

// Notify makes the table of a source's own objects call changed for each changed object, unless it
// is excluded both before and after the change.
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

// Keys returns the keys of all objects of a source's own table, for [Source].Keys. A source with
// several own kinds joins their keys.
func Keys[T any, P Keyed[T]](table *kube.Table[T]) func() []Key {
	return func() []Key {
		objects := table.List()
		keys := make([]Key, 0, len(objects))
		for _, value := range objects {
			keys = append(keys, P(value).object().Key)
		}
		return keys
	}
}

// NotifyAll calls changed for objects of a source's own table, such as those that
// [kube.Table.ByIndex] returns, because an object that they depend on has changed.
//
// A source indexes its own objects by their dependencies. The table of the other kind has a handler
// that looks up this index by the key of the object, before and after the change. Both tables
// change before their handlers run, so the evaluation after the later change sees both.
func NotifyAll[T any, P Keyed[T]](changed func(Key), objects []*T) {
	for _, value := range objects {
		if o := P(value).object(); o.Selected {
			changed(o.Key)
		}
	}
}

// SelectorKeys returns the index key of an object that selects others of a namespace by labels: that
// of one of the labels. An empty selector selects all of the namespace, and has a key of its own.
func SelectorKeys(namespace string, selector map[string]string) []string {
	if len(selector) == 0 {
		return []string{namespace}
	}
	name := slices.Min(slices.Collect(maps.Keys(selector)))
	return []string{labelKey(namespace, name, selector[name])}
}

// LabelKeys returns the keys under which an index of [SelectorKeys] has all objects that may select
// an object with these labels. Check each with [Selects].
func LabelKeys(namespace string, labels objectmeta.Labels) []string {
	keys := append(make([]string, 0, 1+len(labels)), namespace)
	for _, label := range labels {
		keys = append(keys, labelKey(namespace, label.Key, label.Value))
	}
	return keys
}

// labelKey joins its arguments with a byte that can't occur in them.
func labelKey(namespace, name, value string) string {
	return namespace + "\x00" + name + "\x00" + value
}

// Selects reports whether labels contain a whole selector. An empty selector selects everything.
func Selects(selector map[string]string, labels objectmeta.Labels) bool {
	for name, value := range selector {
		if has, ok := labels.Get(name); !ok || has != value {
			return false
		}
	}
	return true
}

package model

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/signpostd/signpost/dev/lab/history"
)

// State is the objects of the cluster at a revision. The zero State has no objects.
type State struct {
	kinds  map[kind]map[string]*Version // by name
	latest map[id]int64                 // the revision of the last change, also of deleted objects
}

// id identifies an object, which may not exist.
type id struct{ resource, namespace, name string }

// kind is a resource in a namespace; the namespace is empty for cluster-scoped objects.
type kind struct{ resource, namespace string }

// Version is an object from one revision to its next change. A Version is immutable, but caches its decoded
// form.
type Version struct {
	history.Object
	decoded any
}

// NewVersion returns the version that a change has created.
func NewVersion(o history.Object) *Version { return &Version{Object: o} }

// Decode returns the content of v as a T. It decodes once. A second type for the same version is a mistake of
// the caller, and is decoded each time. The error names an object whose stored content isn't of this type.
func Decode[T any](v *Version) (*T, error) {
	if t, ok := v.decoded.(*T); ok {
		return t, nil
	}
	t := new(T)
	if err := json.Unmarshal(v.Content, t); err != nil {
		return nil, fmt.Errorf("read %s %s/%s of revision %d: %w", v.Resource, v.Namespace, v.Name, v.Revision, err)
	}
	v.decoded = t
	return t, nil
}

// Apply makes s the state after o. A change that isn't newer than the last one of its object is ignored.
func (s *State) Apply(o history.Object) { s.ApplyVersion(NewVersion(o)) }

// ApplyVersion is Apply for a version that several states share, so that it is decoded once.
func (s *State) ApplyVersion(v *Version) {
	if s.kinds == nil {
		s.kinds, s.latest = map[kind]map[string]*Version{}, map[id]int64{}
	}
	object := id{v.Resource, v.Namespace, v.Name}
	if before, ok := s.latest[object]; ok && before >= v.Revision {
		return
	}
	s.latest[object] = v.Revision
	k := kind{v.Resource, v.Namespace}
	objects := s.kinds[k]
	if objects == nil {
		objects = map[string]*Version{}
		s.kinds[k] = objects
	}
	if v.Deleted {
		delete(objects, v.Name)
	} else {
		objects[v.Name] = v
	}
}

// Version returns the version of an object, or nil if it doesn't exist.
func (s *State) Version(resource, namespace, name string) *Version {
	return s.kinds[kind{resource, namespace}][name]
}

// Versions returns the objects of a resource in a namespace, sorted by name.
func (s *State) Versions(resource, namespace string) []*Version {
	objects := s.kinds[kind{resource, namespace}]
	out := make([]*Version, 0, len(objects))
	for _, name := range slices.Sorted(maps.Keys(objects)) {
		out = append(out, objects[name])
	}
	return out
}

// Get returns an object, and whether it exists. The object is shared and must not be changed. An object that
// isn't of this type counts as missing.
func Get[T any](s *State, resource, namespace, name string) (*T, bool) {
	v := s.Version(resource, namespace, name)
	if v == nil {
		return nil, false
	}
	t, err := Decode[T](v)
	return t, err == nil
}

// All returns the objects of a resource in a namespace, sorted by name, without those that aren't of this
// type. Their content is shared and must not be changed.
func All[T any](s *State, resource, namespace string) []T {
	versions := s.Versions(resource, namespace)
	out := make([]T, 0, len(versions))
	for _, v := range versions {
		if t, err := Decode[T](v); err == nil {
			out = append(out, *t)
		}
	}
	return out
}

package kube

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// entry is an object on its way into the tables of a feed: trimmed, but not yet compared with the rows. In
// watch events in protobuf and in listings it replaces the object, so that full objects need not be kept.
// Reflectors need the name and the version of an object, so an entry is a metav1.Object and a runtime.Object
// whose other fields are blank. Entries are immutable.
type entry struct {
	metav1.Object // blank, shared by all entries of a feed
	key           key
	version       string
	// values has a *T for each table: nil if the object can't be used. A deleted object has no values.
	values  []any
	updated int64

	one [1]any // backs values if the feed has one table, as most do
}

// GetNamespace implements metav1.Object.
func (e *entry) GetNamespace() string { return e.key.namespace }

// GetName implements metav1.Object.
func (e *entry) GetName() string { return e.key.name }

// GetResourceVersion implements metav1.Object.
func (e *entry) GetResourceVersion() string { return e.version }

// GetObjectKind implements runtime.Object.
func (e *entry) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object.
func (e *entry) DeepCopyObject() runtime.Object { return e }

// entries makes the entries of a feed.
type entries struct {
	feed  *feed
	blank *metav1.ObjectMeta
}

func newEntries(f *feed) *entries { return &entries{feed: f, blank: &metav1.ObjectMeta{}} }

func (m *entries) entry(namespace, name, version string, updated int64) *entry {
	return &entry{Object: m.blank, key: key{namespace, name}, version: version, updated: updated}
}

func (m *entries) makeValues(e *entry) {
	if len(m.feed.tables) == 1 {
		e.values = e.one[:]
		return
	}
	e.values = make([]any, len(m.feed.tables))
}

// of returns the entry of an object, which may be an entry already.
func (m *entries) of(obj any) (*entry, error) {
	if e, ok := obj.(*entry); ok {
		return e, nil
	}
	o, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	whole, ok := obj.(runtime.Object)
	if !ok {
		return nil, fmt.Errorf("%s/%s: %T is no API object", o.GetNamespace(), o.GetName(), obj)
	}
	e := m.entry(m.feed.scope.Intern(o.GetNamespace()), o.GetName(), o.GetResourceVersion(), 0)
	if m.feed.lag != "" {
		e.updated = newestUpdate(o)
	}
	// Nothing else reads the managed fields, which are often the larger part of an object. Kinds that keep
	// full objects keep them without.
	o.SetManagedFields(nil)
	m.makeValues(e)
	begun := m.feed.reported.begin()
	for i, t := range m.feed.tables {
		e.values[i] = t.trim(whole)
	}
	m.feed.reported.end(e.key, begun)
	return e, nil
}

// header returns an entry with the name and version of an object in protobuf, for a deletion.
func (m *entries) header(message []byte) (*entry, messageMeta, error) {
	meta, err := readMetadata(message)
	return m.entry(m.feed.scope.InternBytes(meta.namespace), string(meta.name), string(meta.version), 0), meta, err
}

// read returns the entry of an object in protobuf. It decodes the object only if a table has no Kind.Read. It
// overwrites the message.
func (m *entries) read(message []byte, objects *objects) (*entry, error) {
	e, meta, err := m.header(message)
	if err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	if m.feed.lag != "" {
		if e.updated, err = meta.newestUpdate(); err != nil {
			return nil, fmt.Errorf("metadata: %w", err)
		}
	}
	m.makeValues(e)
	begun := m.feed.reported.begin()
	decode := false
	for i, t := range m.feed.tables {
		if !t.reads() {
			decode = true
		} else if e.values[i], err = t.read(message); err != nil {
			return nil, err
		}
	}
	if decode {
		if err := m.decode(e, message, objects); err != nil {
			return e, err
		}
	}
	m.feed.reported.end(e.key, begun)
	return e, nil
}

// decode decodes the object for the tables without Kind.Read, and adds their values.
func (m *entries) decode(e *entry, message []byte, objects *objects) error {
	object, err := objects.decode(message)
	if err != nil {
		return err
	}
	for i, t := range m.feed.tables {
		if !t.reads() {
			e.values[i] = t.trim(object)
		}
	}
	return nil
}

// newestUpdate returns when an object was last updated according to its managed fields, in Unix seconds; zero
// if they record no update.
func newestUpdate(m metav1.Object) int64 {
	var newest time.Time
	for _, f := range m.GetManagedFields() {
		if f.Operation == metav1.ManagedFieldsOperationUpdate && f.Time != nil && f.Time.After(newest) {
			newest = f.Time.Time
		}
	}
	if newest.IsZero() {
		return 0
	}
	return newest.Unix()
}

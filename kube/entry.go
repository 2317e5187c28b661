package kube

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// entry is an object on its way into the tables of a feed: trimmed, but not yet compared
// with what is there. Watches in protobuf have entries as the objects of their events, and
// reflectors keep entries instead of whole objects while a listing comes in. Both ask
// them for their names and versions, which is why an entry is a metav1.Object and a
// runtime.Object. Everything else about that object is blank. Entries don't change.
type entry struct {
	metav1.Object // blank, shared by all entries of a feed
	key           key
	version       string
	// values has a *T for each table, nil where the object can't be used. It is nil
	// in the entry of an object that is gone.
	values  []any
	updated int64

	one [1]any // the memory of values for one table, as most feeds have
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

// of returns the entry of an object, which may be one already.
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
	// Nothing else is read from the managed fields, and a kind that keeps whole
	// objects is not to keep these: they are often the larger part.
	o.SetManagedFields(nil)
	m.makeValues(e)
	for i, t := range m.feed.tables {
		e.values[i] = t.trim(whole)
	}
	return e, nil
}

// named returns the entry of an object in protobuf, with its name and version only: all that
// matters of one that is gone.
func (m *entries) named(message []byte) (*entry, messageMeta, error) {
	meta, err := readMetadata(message)
	return m.entry(m.feed.scope.InternBytes(meta.namespace), string(meta.name), string(meta.version), 0), meta, err
}

// read returns the entry of an object in protobuf, and spoils the message. The object is
// decoded if a table wants it as such.
func (m *entries) read(message []byte, objects *objects) (*entry, error) {
	e, meta, err := m.named(message)
	if err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	if m.feed.lag != "" {
		if e.updated, err = meta.newestUpdate(); err != nil {
			return nil, fmt.Errorf("metadata: %w", err)
		}
	}
	m.makeValues(e)
	decode := false
	for i, t := range m.feed.tables {
		if !t.reads() {
			decode = true
		} else if e.values[i], err = t.read(message); err != nil {
			return nil, err
		}
	}
	if decode {
		return e, m.decode(e, message, objects)
	}
	return e, nil
}

// decode adds what the tables keep that want the object as such.
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
	objects.recycle(object)
	return nil
}

// newestUpdate returns the time of the newest update that the managed fields of
// an object tell of, in Unix seconds; zero when they tell of none.
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

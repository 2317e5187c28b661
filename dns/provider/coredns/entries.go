package coredns

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// entry is a key of etcd with its current and its new value.
type entry struct {
	key string
	// name is the name of its records. It is empty for an entry of another owner.
	name string
	// revision is the revision of the last change; zero for a new entry.
	revision     int64
	was, service service
}

// entries are the entries that matter for a change, by key.
type entries struct {
	layout
	// owner is the owner whose entries are read and written; empty means all.
	owner string
	byKey map[string]*entry
}

// add adds entries that were read.
func (e *entries) add(kvs []*mvccpb.KeyValue) {
	for _, kv := range kvs {
		one := &entry{key: string(kv.Key), revision: kv.ModRevision}
		e.byKey[one.key] = one
		var s service
		if json.Unmarshal(kv.Value, &s) != nil {
			continue
		}
		if name, ok := e.layout.name(one.key, &s); ok && (e.owner == "" || s.Owner == e.owner) {
			one.name, one.was, one.service = name, s, s
		}
	}
}

// of returns the entries of a name, sorted by their keys.
func (e *entries) of(name string) []*entry {
	var found []*entry
	for _, key := range slices.Sorted(maps.Keys(e.byKey)) {
		if one := e.byKey[key]; one.name == name {
			found = append(found, one)
		}
	}
	return found
}

// listed returns the record sets of names according to the entries.
func (e *entries) listed(names []string) []*dns.RecordSet {
	l := listing{byKey: map[dns.Key]*dns.RecordSet{}}
	for _, name := range names {
		for _, one := range e.of(name) {
			l.add(name, &one.was)
		}
	}
	return l.normal()
}

// change applies a change to the entries.
func (e *entries) change(c dns.Change) error {
	if c.New == nil {
		e.clear(dns.Canonical(c.Old.Name), c.Old.Type)
		return nil
	}
	r := c.New.Normal()
	if err := storable(r); err != nil {
		return fmt.Errorf("%w: %w", provider.ErrRejected, err)
	}
	return e.set(r)
}

// storable returns an error for a record set that can't be stored in etcd for CoreDNS.
func storable(r *dns.RecordSet) error {
	// Only the property for the group is written, which may be any text.
	plain := *r
	plain.Properties = nil
	if err := plain.Check(); err != nil {
		return err
	}
	if slices.Contains([]byte(r.Name), '/') {
		return fmt.Errorf("name %q: a slash can't be in a name in etcd", r.Name)
	}
	types := []string{dns.TypeA, dns.TypeAAAA, dns.TypeCNAME, dns.TypeTXT}
	if dns.IsReverseName(r.Name) {
		types = []string{dns.TypePTR, dns.TypeTXT}
	}
	if !slices.Contains(types, r.Type) {
		return fmt.Errorf("type %s: CoreDNS takes only %v from etcd for the name %s", r.Type, types, r.Name)
	}
	if r.TTL > math.MaxInt32 {
		return fmt.Errorf("TTL of %d s: it must be at most %d", r.TTL, math.MaxInt32)
	}
	return nil
}

// clear removes a record set: its values in all entries.
func (e *entries) clear(name, recordType string) {
	for _, one := range e.of(name) {
		one.drop(recordType)
	}
}

func (one *entry) drop(recordType string) {
	switch {
	case recordType == dns.TypeTXT:
		one.service.Text = ""
	case one.service.value(one.name, recordType) != "":
		one.service.Host = ""
	}
}

// set gives the entries exactly the targets of a record set.
func (e *entries) set(r *dns.RecordSet) error {
	missing := slices.Clone(r.Targets)
	for _, one := range e.of(r.Name) {
		has := one.service.value(r.Name, r.Type)
		if has == "" {
			continue
		}
		e.separate(one, r.Type)
		i := slices.IndexFunc(missing, func(t string) bool { return sameTarget(r.Type, t, has) })
		if i < 0 || one.service.value(r.Name, r.Type) == "" {
			one.drop(r.Type)
			continue
		}
		one.fill(r, missing[i])
		missing = slices.Delete(missing, i, i+1)
	}
	for _, t := range missing {
		if err := e.insert(r, t); err != nil {
			return err
		}
	}
	return nil
}

// sameTarget compares a target in normal form with that of an entry.
func sameTarget(recordType, target, has string) bool {
	if recordType == dns.TypeTXT {
		return target == has
	}
	return dns.SameTargets([]string{target}, (&dns.RecordSet{Type: recordType, Targets: []string{has}}).Normal().Targets)
}

// separate moves a text beside a host into an entry of its own. If a text is about to be written,
// it only removes the old one.
func (e *entries) separate(one *entry, recordType string) {
	if one.service.Text == "" || one.service.Host == "" {
		return
	}
	text := one.service
	one.service.Text = ""
	if recordType == dns.TypeTXT {
		return
	}
	alone := e.free(one.name, dns.TypeTXT, text.Text)
	alone.service = service{Text: text.Text, TTL: text.TTL, TargetStrip: 1, Group: text.Group, Owner: text.Owner}
}

// fill puts a target of a record set into an entry.
func (one *entry) fill(r *dns.RecordSet, target string) {
	if r.Type == dns.TypeTXT {
		one.service.Text = target
	} else {
		one.service.Host = target
	}
	one.service.TTL = uint32(r.TTL)
	one.service.Group, _ = r.Property(propertyGroup)
}

// insert adds an entry for a target.
func (e *entries) insert(r *dns.RecordSet, target string) error {
	if r.Type != dns.TypePTR {
		one := e.free(r.Name, r.Type, target)
		one.service = service{TargetStrip: 1, Owner: e.owner}
		one.fill(r, target)
		return nil
	}
	key := e.key(r.Name)
	one := e.byKey[key]
	switch {
	case one == nil:
		one = &entry{key: key, name: r.Name, service: service{Owner: e.owner}}
		e.byKey[key] = one
	case one.name == "":
		return fmt.Errorf("%w: %w: %s", provider.ErrRejected, errOtherOwner, key)
	case one.service.Host != "":
		return fmt.Errorf("%w: a PTR record can have one target only, so %q is too many", provider.ErrRejected, target)
	}
	one.fill(r, target)
	return nil
}

var errOtherOwner = errors.New("the key has an entry of another owner: remove it, or use another name")

// free returns a new entry with an unused key.
func (e *entries) free(name, recordType, target string) *entry {
	for attempt := 0; ; attempt++ {
		key := e.key(name) + "/" + label(recordType, target, attempt)
		if e.byKey[key] == nil {
			one := &entry{key: key, name: name}
			e.byKey[key] = one
			return one
		}
	}
}

// step is a write of one key, on condition that the key hasn't changed since it was read.
type step struct {
	condition clientv3.Cmp
	operation clientv3.Op
}

// steps returns the writes, sorted by key. Deletions come last.
func (e *entries) steps() ([]step, error) {
	var come, gone []step
	for _, key := range slices.Sorted(maps.Keys(e.byKey)) {
		one := e.byKey[key]
		condition := clientv3.Compare(clientv3.ModRevision(key), "=", one.revision)
		switch {
		case one.service == one.was:
		case one.service.Host != "" || one.service.Text != "":
			text, err := one.service.encode()
			if err != nil {
				return nil, err
			}
			come = append(come, step{condition: condition, operation: clientv3.OpPut(key, text)})
		case one.revision != 0:
			gone = append(gone, step{condition: condition, operation: clientv3.OpDelete(key)})
		}
	}
	return append(come, gone...), nil
}

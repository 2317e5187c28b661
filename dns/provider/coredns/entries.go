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

// entry is a key of etcd with what it has, and what it is to have.
type entry struct {
	key string
	// name is that of its records; empty for a key that is none of our business, but taken.
	name string
	// revision is when it was written last; zero for one that isn't there yet.
	revision     int64
	was, service service
}

// entries are those that a change has to know, by their keys.
type entries struct {
	layout
	// owner is whose entries are to be seen and made; empty is everybody's.
	owner string
	byKey map[string]*entry
}

func newEntries(l layout, owner string) *entries {
	return &entries{layout: l, owner: owner, byKey: map[string]*entry{}}
}

// add adds what was read.
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

// change makes a change among the entries.
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

// storable returns an error for a record set that etcd can't have for CoreDNS.
func storable(r *dns.RecordSet) error {
	// The properties are not written, but for one that any text will do for.
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

// clear takes a record set away: the values of all its entries.
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

// set makes a record set be there with exactly its targets.
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

// sameTarget compares a target in normal form with what an entry has.
func sameTarget(recordType, target, has string) bool {
	if recordType == dns.TypeTXT {
		return target == has
	}
	return dns.SameTargets([]string{target}, (&dns.RecordSet{Type: recordType, Targets: []string{has}}).Normal().Targets)
}

// separate gives text that has a host beside it an entry of its own, unless the text is what
// is about to be written.
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

// fill makes an entry have a target of a record set.
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
		return fmt.Errorf("%w: %w: %s", provider.ErrRejected, errForeign, key)
	case one.service.Host != "":
		return fmt.Errorf("%w: a PTR record has one target, not %q too", provider.ErrRejected, target)
	}
	one.fill(r, target)
	return nil
}

var errForeign = errors.New("there is an entry that is not ours: remove it, or leave the name to its owner")

// free returns a new entry at a key that nobody has.
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

// step is a write of one key under the condition that it is as it was read.
type step struct {
	condition clientv3.Cmp
	operation clientv3.Op
}

// steps returns what is to be written, sorted by keys, what comes before what goes.
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

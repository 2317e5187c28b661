package cloudflaretest

import (
	"encoding/json"
	"fmt"
	"maps"
)

// Changes is the body of a batch.
type Changes struct {
	Deletes []Change `json:"deletes"`
	Patches []Change `json:"patches"`
	Puts    []Change `json:"puts"`
	Posts   []Change `json:"posts"`
}

// Size returns the number of operations.
func (c Changes) Size() int { return len(c.Deletes) + len(c.Patches) + len(c.Puts) + len(c.Posts) }

// Change is one operation, with the given fields of a record.
type Change struct {
	ID       string          `json:"id"`
	Type     *string         `json:"type"`
	Name     *string         `json:"name"`
	Content  *string         `json:"content"`
	Priority *float64        `json:"priority"`
	Data     json.RawMessage `json:"data"`
	TTL      *int64          `json:"ttl"`
	Proxied  *bool           `json:"proxied"`
	Comment  *string         `json:"comment"`
	Tags     *[]string       `json:"tags"`
}

// The largest batches (dns/manage-dns-records/how-to/batch-record-changes).
const (
	freeBatch = 200
	paidBatch = 3500
)

// batch applies a batch completely or not at all, by kind: deletes, patches, puts, posts
// (dns/manage-dns-records/how-to/batch-record-changes). The response is the first error.
func (s *Server) batch(req *request) (result, *Fault) {
	z := s.find(req.Zone)
	most := paidBatch
	if z.Plan == Free {
		most = freeBatch
	}
	if n := req.Changes.Size(); n == 0 || n > most {
		return result{}, invalid(9207, fmt.Sprintf("A batch must have 1 to %d operations, and has %d", most, n))
	}
	b := batching{server: s, zone: z, next: maps.Clone(z.Now()), byName: map[string][]string{}, made: map[string][]*Record{}}
	for id, r := range z.Now() {
		b.byName[r.Name] = append(b.byName[r.Name], id)
	}
	for _, kind := range []struct {
		name    string
		changes []Change
		make    func(Change) (*Record, *Fault)
	}{
		{"deletes", req.Changes.Deletes, b.delete},
		{"patches", req.Changes.Patches, b.patch},
		{"puts", req.Changes.Puts, b.put},
		{"posts", req.Changes.Posts, b.post},
	} {
		for _, c := range kind.changes {
			r, fault := kind.make(c)
			if fault != nil {
				return result{}, fault
			}
			b.made[kind.name] = append(b.made[kind.name], r)
		}
	}
	z.Replace(b.next, s.Lag())
	return result{value: b.made}, nil
}

// batching is a batch being applied.
type batching struct {
	server *Server
	zone   *zone
	next   map[string]*Record
	// byName has the IDs of records by name, and possibly of deleted ones.
	byName map[string][]string
	made   map[string][]*Record
}

func (b *batching) there(id string) (*Record, *Fault) {
	if r := b.next[id]; r != nil {
		if r.Meta["read_only"] == true {
			return nil, invalid(9300, "The record is read only")
		}
		return r, nil
	}
	return nil, &Fault{Status: 404, Code: 81044, Message: "Record does not exist."}
}

func (b *batching) delete(c Change) (*Record, *Fault) {
	r, fault := b.there(c.ID)
	if fault == nil {
		delete(b.next, c.ID)
	}
	return r, fault
}

func (b *batching) patch(c Change) (*Record, *Fault) {
	old, fault := b.there(c.ID)
	if fault != nil {
		return nil, fault
	}
	r := copyOf(*old)
	return b.set(r, c)
}

func (b *batching) put(c Change) (*Record, *Fault) {
	if _, fault := b.there(c.ID); fault != nil {
		return nil, fault
	}
	return b.set(Record{ID: c.ID, TTL: 1}, c)
}

func (b *batching) post(c Change) (*Record, *Fault) {
	if b.zone.Quota > 0 && len(b.next) >= b.zone.Quota {
		return nil, &Fault{Status: 400, Code: 81045, Message: "The record quota has been exceeded."}
	}
	return b.set(Record{ID: b.server.nextID(), TTL: 1}, c)
}

// set stores a record with the given fields.
func (b *batching) set(r Record, c Change) (*Record, *Fault) {
	give(&r.Type, c.Type)
	give(&r.Name, c.Name)
	give(&r.Content, c.Content)
	give(&r.TTL, c.TTL)
	give(&r.Proxied, c.Proxied)
	give(&r.Tags, c.Tags)
	if c.Priority != nil {
		r.Priority = c.Priority
	}
	if c.Comment != nil {
		r.Comment = c.Comment
		if *c.Comment == "" {
			r.Comment = nil
		}
	}
	if len(c.Data) > 0 {
		r.Data = &Data{}
		if err := json.Unmarshal(c.Data, r.Data); err != nil {
			return nil, invalid(9101, "data is invalid")
		}
	}
	r.Name = b.zone.canonical(r.Name)
	if fault := b.check(&r); fault != nil {
		return nil, fault
	}
	b.next[r.ID] = &r
	b.byName[r.Name] = append(b.byName[r.Name], r.ID)
	return &r, nil
}

func give[T any](to *T, value *T) {
	if value != nil {
		*to = *value
	}
}

package cloudflare

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/listlimit"
)

// automaticTTL is the TTL of proxied records and of those whose TTL Cloudflare chooses.
const automaticTTL = 1

// record is a listed record: one value of a record set.
type record struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Name     string   `json:"name"`
	Content  string   `json:"content"`
	Priority *float64 `json:"priority"`
	// Data is set for SRV records.
	Data    json.RawMessage            `json:"data"`
	TTL     int64                      `json:"ttl"`
	Proxied bool                       `json:"proxied"`
	Comment string                     `json:"comment"`
	Tags    []string                   `json:"tags"`
	Meta    map[string]json.RawMessage `json:"meta"`
}

// service is the data of an SRV record.
type service struct {
	Priority int    `json:"priority"`
	Weight   int    `json:"weight"`
	Port     int    `json:"port"`
	Target   string `json:"target"`
}

// outgoing is a record in a request. A new record has no ID, and a record to delete has only the ID.
type outgoing struct {
	ID       string    `json:"id,omitempty"`
	Type     string    `json:"type,omitempty"`
	Name     string    `json:"name,omitempty"`
	Content  string    `json:"content,omitempty"`
	Priority *int      `json:"priority,omitempty"`
	Data     *service  `json:"data,omitempty"`
	TTL      int64     `json:"ttl,omitempty"`
	Proxied  *bool     `json:"proxied,omitempty"`
	Comment  *string   `json:"comment,omitempty"`
	Tags     *[]string `json:"tags,omitempty"`
}

// normal returns the record with its name and tags in comparable form.
func (r record) normal() record {
	r.Type, r.Name = strings.ToUpper(r.Type), dns.Canonical(r.Name)
	r.Tags = normalTags(r.Tags)
	if bytes.Equal(r.Data, []byte("null")) {
		r.Data = nil
	}
	return r
}

func (r record) key() dns.Key { return dns.Key{Name: r.Name, Type: r.Type} }

// ignoredMeta are the members of meta that don't mean that another product manages the record.
var ignoredMeta = []string{"auto_added", "source"}

// size returns the memory of the record in bytes, with its listed form.
func (r record) size() int {
	n := entrySize + listlimit.EmptySetSize(r.Name) + listlimit.TargetSize(r.Content) + len(r.ID) + len(r.Comment) + 2*len(r.Data)
	for _, tag := range r.Tags {
		n += listlimit.TargetSize(tag)
	}
	for name, value := range r.Meta {
		n += listlimit.TargetSize(name) + len(value)
	}
	return n
}

// readOnly reports whether another product of Cloudflare manages the record, such as Tunnel or Email Routing.
func (r record) readOnly() bool {
	for name, value := range r.Meta {
		switch string(bytes.TrimSpace(value)) {
		case "", "null", "false", `""`, "0", "{}", "[]":
		default:
			if !slices.Contains(ignoredMeta, name) {
				return true
			}
		}
	}
	return false
}

func (r record) same(o record) bool { return target(r) == target(o) && r.sameAttributes(o) }

func (r record) sameAttributes(o record) bool {
	return r.ttl() == o.ttl() && r.Proxied == o.Proxied && r.Comment == o.Comment && slices.Equal(r.Tags, o.Tags)
}

// ttl returns the TTL; 0 means automatic.
func (r record) ttl() int64 {
	if r.TTL == automaticTTL || r.Proxied {
		return 0
	}
	return r.TTL
}

// proxiable reports whether records of a type can be proxied.
func proxiable(recordType string) bool {
	return recordType == dns.TypeA || recordType == dns.TypeAAAA || recordType == dns.TypeCNAME
}

// normalTags returns tags in comparable form: trimmed, sorted, and with names in lower case, because
// Cloudflare ignores the case of names.
func normalTags(tags []string) []string {
	var list []string
	for _, tag := range tags {
		name, value, both := strings.Cut(strings.TrimSpace(tag), ":")
		if name = strings.ToLower(strings.TrimSpace(name)); both {
			name += ":" + strings.TrimSpace(value)
		}
		if name != "" {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

package cloudflare

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/listlimit"
)

// automatic is the TTL of records whose TTL Cloudflare chooses, and of those that it proxies.
const automatic = 1

// record is a record as Cloudflare lists it: one value of a record set.
type record struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Name     string   `json:"name"`
	Content  string   `json:"content"`
	Priority *float64 `json:"priority"`
	// Data has the parts of an SRV record.
	Data    json.RawMessage            `json:"data"`
	TTL     int64                      `json:"ttl"`
	Proxied bool                       `json:"proxied"`
	Comment string                     `json:"comment"`
	Tags    []string                   `json:"tags"`
	Meta    map[string]json.RawMessage `json:"meta"`
}

// service is what an SRV record has in its data.
type service struct {
	Priority int    `json:"priority"`
	Weight   int    `json:"weight"`
	Port     int    `json:"port"`
	Target   string `json:"target"`
}

// outgoing is what is sent of a record. A new record has no ID, and one to delete has nothing else.
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

// normal returns the record with its names and tags in the form in which they are compared.
func (r record) normal() record {
	r.Type, r.Name = strings.ToUpper(r.Type), dns.Canonical(r.Name)
	r.Tags = normalTags(r.Tags)
	if bytes.Equal(r.Data, []byte("null")) {
		r.Data = nil
	}
	return r
}

func (r record) key() dns.Key { return dns.Key{Name: r.Name, Type: r.Type} }

// harmless are the members of meta that don't say that another product keeps the record.
var harmless = []string{"auto_added", "source"}

// size returns how many bytes of memory the record needs, as it is here and as it is listed.
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

// readOnly reports whether another product of Cloudflare keeps the record, such as a tunnel or the
// routing of e-mail.
func (r record) readOnly() bool {
	for name, value := range r.Meta {
		switch string(bytes.TrimSpace(value)) {
		case "", "null", "false", `""`, "0", "{}", "[]":
		default:
			if !slices.Contains(harmless, name) {
				return true
			}
		}
	}
	return false
}

// same reports whether two records have the same value and attributes.
func (r record) same(o record) bool { return target(r) == target(o) && r.alike(o) }

// alike reports whether two records have the same attributes.
func (r record) alike(o record) bool {
	return r.ttl() == o.ttl() && r.Proxied == o.Proxied && r.Comment == o.Comment && slices.Equal(r.Tags, o.Tags)
}

// ttl returns the TTL; 0 is for automatic.
func (r record) ttl() int64 {
	if r.TTL == automatic || r.Proxied {
		return 0
	}
	return r.TTL
}

// proxiable reports whether records of a type can be proxied.
func proxiable(recordType string) bool {
	return recordType == dns.TypeA || recordType == dns.TypeAAAA || recordType == dns.TypeCNAME
}

// normalTags returns tags in the form in which they are compared: without blanks around them,
// sorted, and their names in lower case, because Cloudflare doesn't distinguish cases there.
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

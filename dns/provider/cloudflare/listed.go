package cloudflare

import (
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns"
)

// Properties of record sets.
const (
	propertyProxied  = prefix + "proxied"
	propertyComment  = prefix + "record-comment"
	propertyTags     = prefix + "tags"
	propertyHostname = prefix + "custom-hostname"
	propertyRegion   = prefix + "region-key"
	// propertyMixed is listed if the records of a set differ in more than their values, and
	// propertyKeptByCloudflare if another product of Cloudflare manages one of them. No wanted record set has
	// these properties, so such a set never counts as up to date.
	propertyMixed            = prefix + "mixed"
	propertyKeptByCloudflare = prefix + "kept-by-cloudflare"
)

type groups map[dns.Key][]record

func group(rows []record) groups {
	g := groups{}
	for _, r := range rows {
		if slices.Contains(handled, r.Type) {
			g[r.key()] = append(g[r.key()], r)
		}
	}
	return g
}

// sets returns the record sets for Records, without the settings of names.
func (g groups) sets() []*dns.RecordSet {
	list := make([]*dns.RecordSet, 0, len(g))
	for key, rows := range g {
		list = append(list, set(key, rows))
	}
	return list
}

func set(key dns.Key, rows []record) *dns.RecordSet {
	first := rows[0]
	r := &dns.RecordSet{Name: key.Name, Type: key.Type, TTL: first.ttl(), Properties: first.properties()}
	mixed, readOnly := false, false
	for _, row := range rows {
		r.Targets = append(r.Targets, target(row))
		mixed = mixed || !row.sameAttributes(first)
		readOnly = readOnly || row.readOnly()
	}
	if readOnly {
		r.Properties = append(r.Properties, dns.Property{Name: propertyKeptByCloudflare, Value: "true"})
	}
	if mixed {
		r.Properties = append(r.Properties, dns.Property{Name: propertyMixed, Value: "true"})
	}
	return r.Normal()
}

// properties returns the properties of a record that differ from the defaults.
func (r record) properties() []dns.Property {
	var list []dns.Property
	if r.Proxied {
		list = append(list, dns.Property{Name: propertyProxied, Value: "true"})
	}
	if r.Comment != "" {
		list = append(list, dns.Property{Name: propertyComment, Value: r.Comment})
	}
	if len(r.Tags) > 0 {
		list = append(list, dns.Property{Name: propertyTags, Value: strings.Join(r.Tags, ",")})
	}
	return list
}

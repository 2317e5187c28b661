package cloudflare

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// recordOptions are the settings for records.
type recordOptions struct {
	proxied bool
	comment string
	// hostnames and regional say whether custom hostnames and regions are managed.
	hostnames, regional       bool
	minTLS, authority, region string
}

// withoutDefaults returns the options for adjusted record sets. Adjust has applied the defaults of the flags,
// so a missing property means none.
func (w recordOptions) withoutDefaults() recordOptions {
	w.proxied, w.comment, w.region = false, "", ""
	return w
}

// Adjust implements provider.Adjuster.
func (p *cloudflareProvider) Adjust(_ context.Context, zone dns.Zone, wanted []*dns.RecordSet) ([]provider.Adjusted, error) {
	m := mapping{recordOptions: p.recordOptions, limits: freeLimits, warn: p.warnOnce}
	if z := p.Last().Get(zone.ID); z != nil {
		m.limits = z.limits
	}
	responses := provider.AdjustEach(wanted, m.adjusted)
	if p.recordOptions.regional {
		requireOneRegion(responses)
	}
	return responses, nil
}

// requireOneRegion refuses the record sets of a name if they ask for different regions.
func requireOneRegion(responses []provider.Adjusted) {
	byName := map[string][]int{}
	for i, a := range responses {
		if a.Err == nil && proxiable(a.Sets[0].Type) {
			byName[a.Sets[0].Name] = append(byName[a.Sets[0].Name], i)
		}
	}
	for name, places := range byName {
		first, _ := responses[places[0]].Sets[0].Property(propertyRegion)
		for _, i := range places {
			if other, _ := responses[i].Sets[0].Property(propertyRegion); other != first {
				err := fmt.Errorf("%w: %s: its records ask for the regions %q and %q: a name has one region", provider.ErrRejected, name, first, other)
				for _, place := range places {
					responses[place] = provider.Adjusted{Err: err}
				}
				break
			}
		}
	}
}

// mapping converts the record sets of a zone to records, within the limits of its plan.
type mapping struct {
	recordOptions
	limits
	warn func(key, message string, arguments ...any)
}

// adjusted returns the listed form of a wanted record set.
func (m mapping) adjusted(r *dns.RecordSet) (*dns.RecordSet, error) {
	rows, err := m.wanted(r)
	if err != nil {
		return nil, err
	}
	listed := make([]record, len(rows))
	for i, o := range rows {
		listed[i] = o.arrived()
	}
	adjusted := set(listed[0].key(), listed)
	if m.hostnames && (r.Type == dns.TypeA || r.Type == dns.TypeCNAME) {
		add(adjusted, propertyHostname, strings.Join(hostnamesOf(r), ","))
	}
	if m.regional && proxiable(r.Type) {
		key, given := r.Property(propertyRegion)
		if !given {
			key = m.region
		}
		add(adjusted, propertyRegion, strings.TrimSpace(key))
	}
	adjusted.Labels, adjusted.Objects = r.Labels, r.Objects
	return adjusted, nil
}

// add sets a property of a record set, unless its value is empty.
func add(r *dns.RecordSet, name, value string) {
	if value != "" {
		r.SetProperty(name, value)
	}
}

// hostnamesOf returns the custom hostnames that a record set asks for.
func hostnamesOf(r *dns.RecordSet) []string {
	if r == nil {
		return nil
	}
	var names []string
	text, _ := r.Property(propertyHostname)
	for name := range strings.SplitSeq(text, ",") {
		if name = dns.Canonical(strings.TrimSpace(name)); name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (m mapping) wanted(r *dns.RecordSet) ([]outgoing, error) {
	bare := *r
	bare.Properties, bare.SetIdentifier = nil, ""
	n := bare.Normal()
	if !slices.Contains(handled, n.Type) {
		return nil, fmt.Errorf("%w: %s %s: the provider has no records of this type; it has %s", provider.ErrRejected, n.Name, n.Type, strings.Join(handled, ", "))
	}
	if err := n.Check(); err != nil {
		return nil, fmt.Errorf("%w: %w", provider.ErrRejected, err)
	}
	proxied := m.proxy(r, n.Type)
	comment, tags, ttl := m.commentOf(r), m.tagsOf(r), m.ttlOf(n, proxied)
	var rows []outgoing
	for _, target := range dns.UniqueSorted(n.Targets) {
		o, err := value(n.Type, target)
		if err != nil {
			return nil, fmt.Errorf("%w: %s %s: target %q: %w", provider.ErrRejected, n.Name, n.Type, target, err)
		}
		o.Name, o.TTL, o.Comment = n.Name, ttl, &comment
		if proxiable(n.Type) {
			o.Proxied = &proxied
		}
		if m.tags {
			o.Tags = &tags
		}
		rows = append(rows, o)
	}
	return rows, nil
}

// proxy reports whether a record set is proxied.
func (m mapping) proxy(r *dns.RecordSet, recordType string) bool {
	if !proxiable(recordType) {
		return false
	}
	text, given := r.Property(propertyProxied)
	if proxied, err := strconv.ParseBool(text); given && err == nil {
		return proxied
	}
	return m.proxied
}

// ttlOf returns the TTL to send.
func (m mapping) ttlOf(r *dns.RecordSet, proxied bool) int64 {
	switch {
	case proxied, r.TTL <= automaticTTL:
		return automaticTTL
	case r.TTL < m.minTTL:
		m.warn("ttl "+r.Name, "The TTL is lower than the plan of the zone allows, and is raised", "name", r.Name, "ttl", r.TTL, "lowest", m.minTTL)
		return m.minTTL
	}
	return min(r.TTL, maxTTL)
}

// commentOf returns the comment, cut to the limit of the plan.
func (m mapping) commentOf(r *dns.RecordSet) string {
	text, given := r.Property(propertyComment)
	if !given {
		text = m.recordOptions.comment
	}
	// Cloudflare refuses line breaks.
	text = strings.TrimSpace(strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(text, "")))
	most := m.limits.comment
	if len(text) <= most {
		return text
	}
	m.warn("comment "+r.Name, "The comment is longer than the plan of the zone allows, and is cut", "name", r.Name, "bytes", len(text), "most", most)
	for !utf8.RuneStart(text[most]) {
		most--
	}
	return strings.TrimSpace(text[:most])
}

// tagsOf returns the tags, or none if the plan doesn't support tags.
func (m mapping) tagsOf(r *dns.RecordSet) []string {
	text, _ := r.Property(propertyTags)
	tags := normalTags(strings.Split(text, ","))
	if len(tags) > 0 && !m.tags {
		m.warn("tags "+r.Name, "The plan of the zone has no tags; the record is published without", "name", r.Name)
		return nil
	}
	if tags == nil {
		// An empty list removes existing tags. Nil would be null in JSON.
		tags = []string{}
	}
	return tags
}

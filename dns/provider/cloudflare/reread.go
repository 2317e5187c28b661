package cloudflare

import (
	"context"
	"slices"
	"strings"
	"time"
)

// rowsOfRequest is how many records to list are as dear as one more request.
const rowsOfRequest = 1000

// look reads the current records of the names of units. It may return others, too, because it reads the whole
// zone if that is cheaper.
func (p *cloudflareProvider) look(ctx context.Context, z *managedZone, units []*unit) (groups, error) {
	var queries []query
	for _, u := range units {
		queries = append(queries, u.queries(z.Name)...)
	}
	z.mu.Lock()
	rows := z.rows
	z.mu.Unlock()
	if len(queries) > 1+rows/p.api.perPage+rows/rowsOfRequest {
		begun := time.Now()
		all, err := p.api.records(ctx, z.Zone, query{})
		if err != nil {
			return nil, err
		}
		return z.listed(all, begun), nil
	}
	found, err := p.read(ctx, z, queries)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, u := range units {
		for _, name := range u.names() {
			names[name] = true
		}
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	return group(z.recent.correct(found, names)), nil
}

// read returns what queries find. A record may be found by several of them.
func (p *cloudflareProvider) read(ctx context.Context, z *managedZone, queries []query) ([]record, error) {
	var found []record
	seen := map[string]bool{}
	for _, q := range queries {
		rows, err := p.api.records(ctx, z.Zone, q)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			if !seen[r.ID] {
				seen[r.ID], found = true, append(found, r)
			}
		}
	}
	return found, nil
}

// names returns the names of the changes.
func (u *unit) names() []string {
	var names []string
	for _, c := range u.Changes {
		names = append(names, c.RecordSet().Key().Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// queries returns what finds the names of a unit in a zone. The name of an ownership record mostly
// ends with the name that it is about, and then one request is enough.
func (u *unit) queries(zone string) []query {
	names := u.names()
	shortest := slices.MinFunc(names, func(a, b string) int { return len(a) - len(b) })
	if shortest != zone && len(names) > 1 && !slices.ContainsFunc(names, func(name string) bool { return !strings.HasSuffix(name, shortest) }) {
		return []query{{ending: shortest}}
	}
	queries := make([]query, len(names))
	for i, name := range names {
		queries[i] = query{exact: name}
	}
	return queries
}

package cloudflare

import (
	"context"
	"slices"
	"strings"
	"time"
)

// recordsPerRequest is the number of listed records that costs as much as one more request.
const recordsPerRequest = 1000

// readCurrent reads the current records of units. It may return others, too, because it reads the whole zone
// if that is cheaper.
func (p *cloudflareProvider) readCurrent(ctx context.Context, z *managedZone, units []*unit) (groups, error) {
	var queries []query
	for _, u := range units {
		queries = append(queries, u.queries(z.Name)...)
	}
	z.mu.Lock()
	rows := z.rows
	z.mu.Unlock()
	if len(queries) > 1+rows/p.api.perPage+rows/recordsPerRequest {
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
	return group(z.correct(found, names)), nil
}

// read returns the records that queries find. A record may match several of them.
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

func (u *unit) names() []string {
	var names []string
	for _, c := range u.Changes {
		names = append(names, c.RecordSet().Key().Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// queries returns the queries for the names of a unit. If the name of an ownership record ends with the name
// of its record set, one query is enough.
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

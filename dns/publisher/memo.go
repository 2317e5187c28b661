package publisher

import "slices"

const (
	// memoObjects is from how many objects on that ask for a name its results are kept.
	memoObjects = 32
	// memoNames limits the names whose results are kept.
	memoNames = 64
)

// memo keeps what inspections compute about names that many objects ask for. An inspection visits each
// of these objects, and each visit would merge the record sets of all. Inspections change nothing, so the
// results are good until the next pass of the loop.
type memo struct {
	// visited is true during a visit.
	visited bool
	demands map[nameInZone]demand
	rows    map[nameInZone][]Row
}

// keeps reports whether the results for a name are kept.
func (p *Publisher) keeps(name string) bool {
	return p.memo.visited && p.Desired.CountOrigins(name) >= memoObjects
}

// visited calls a function that inspects the publisher.
func (p *Publisher) visited(inspect func()) {
	p.memo.visited = true
	inspect()
	p.memo.visited = false
}

// want returns the demand for a name in a zone. Without a zone, the first zone that holds the name
// counts.
func (p *Publisher) want(z *zone, name string) demand {
	if !p.keeps(name) {
		return p.demandFor(z, name)
	}
	return remembered(&p.memo.demands, nameInZone{z, name}, func() demand { return p.demandFor(z, name) })
}

// rowsAt returns the rows of a name, by type and set identifier. It is called in the loop. The caller may
// change the list.
func (p *Publisher) rowsAt(at nameInZone) []Row {
	if !p.keeps(at.name) {
		return p.makeRows(at)
	}
	return slices.Clone(remembered(&p.memo.rows, at, func() []Row { return p.makeRows(at) }))
}

// remembered returns the kept result for a name, and computes a missing one.
func remembered[V any](kept *map[nameInZone]V, at nameInZone, made func() V) V {
	if v, known := (*kept)[at]; known {
		return v
	}
	v := made()
	if *kept == nil {
		*kept = map[nameInZone]V{}
	}
	if len(*kept) < memoNames {
		(*kept)[at] = v
	}
	return v
}

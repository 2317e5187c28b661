package publisher

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/desired"
)

// maxObjectProblems and maxOriginProblems limit the problems that are listed: of all objects, and of
// one of them.
const maxObjectProblems, maxOriginProblems = 1000, 10

// ObjectProblem is a part of an object that can't be used, as of the last evaluation of the object.
type ObjectProblem struct {
	dns.Problem
	Since time.Time
	// kind is the kind of the object that was evaluated.
	kind string
}

// objectProblems has the problems of the objects, for [Publisher.ObjectProblems]. The loop changes it.
type objectProblems struct {
	mu sync.Mutex
	of map[desired.Origin][]ObjectProblem
	n  int
}

// replace lists the problems of an object after an evaluation. A problem that the object had before
// keeps its time.
func (o *objectProblems) replace(origin desired.Origin, found []dns.Problem) {
	o.mu.Lock()
	defer o.mu.Unlock()
	before := o.of[origin]
	o.n -= len(before)
	delete(o.of, origin)
	if len(found) == 0 {
		return
	}
	now := make([]ObjectProblem, min(len(found), maxOriginProblems, maxObjectProblems-o.n))
	for i, p := range found[:len(now)] {
		now[i] = ObjectProblem{Problem: p, Since: time.Now(), kind: origin.Kind}
		if known := slices.IndexFunc(before, func(b ObjectProblem) bool { return b.Problem == p }); known >= 0 {
			now[i].Since = before[known].Since
		}
	}
	if o.of == nil {
		o.of = map[desired.Origin][]ObjectProblem{}
	}
	if o.n += len(now); len(now) > 0 {
		o.of[origin] = now
	}
}

// ObjectProblems returns the parts of objects that can't be used, at most 1,000, in the order of the
// objects. It may be called from any goroutine, also in a process that doesn't lead.
func (p *Publisher) ObjectProblems() []ObjectProblem {
	all := p.objectProblems.list()
	for i := range all {
		if o := &all[i].Object; o.Kind == "" {
			o.Kind, _, _ = strings.Cut(all[i].kind, ".")
		}
	}
	return all
}

func (o *objectProblems) list() []ObjectProblem {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := make([]ObjectProblem, 0, o.n)
	for _, origin := range slices.SortedFunc(maps.Keys(o.of), compareOrigins) {
		all = append(all, o.of[origin]...)
	}
	return all
}

func compareOrigins(a, b desired.Origin) int {
	return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

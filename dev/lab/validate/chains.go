package validate

import (
	"math"
	"slices"
	"sort"
	"time"

	"github.com/signpostd/signpost/dev/lab/history"
	"github.com/signpostd/signpost/dev/lab/model"
)

// beforeAll is the time of the first step of each chain. Nothing exists at that time.
const beforeAll = time.Duration(math.MinInt64)

// chain is the history of a value. The first step is at beforeAll.
type chain[T any] []step[T]

type step[T any] struct {
	at    time.Duration // when the witness saw it
	value T
}

// append adds a step, unless same reports that the value equals the last one.
func (c *chain[T]) append(at time.Duration, value T, same func(a, b T) bool) {
	if same((*c)[len(*c)-1].value, value) {
		return
	}
	*c = append(*c, step[T]{at, value})
}

// known returns the number of steps up to a time, at least 1.
func (c chain[T]) known(until time.Duration) int {
	return max(1, sort.Search(len(c), func(i int) bool { return c[i].at > until }))
}

// at returns the index of the step that is in force at a time.
func (c chain[T]) at(when time.Duration) int { return c.known(when) - 1 }

// stamped is a version with the time when the witness saw it.
type stamped struct {
	at time.Duration
	*model.Version
}

// objects has all versions of all objects of a run.
type objects struct {
	byID map[objectID][]stamped // in the order of revisions
	// slicesOf has the names of all slices that ever belonged to a Service.
	slicesOf map[serviceKey][]string
}

type objectID struct{ resource, namespace, name string }

type serviceKey struct{ namespace, name string }

// resourcesOfResponses are the kinds from which responses of the Destination API are made.
var resourcesOfResponses = []string{model.Services, model.EndpointSlices, model.Pods, model.ExternalWorkloads, model.ServiceProfiles}

func collect(h history.History) *objects {
	all := &objects{byID: map[objectID][]stamped{}, slicesOf: map[serviceKey][]string{}}
	for i := range h.Entries {
		e := &h.Entries[i]
		if e.Object == nil || !slices.Contains(resourcesOfResponses, e.Object.Resource) {
			continue
		}
		id := objectID{e.Object.Resource, e.Object.Namespace, e.Object.Name}
		all.byID[id] = append(all.byID[id], stamped{e.At, model.NewVersion(*e.Object)})
	}
	for id, versions := range all.byID {
		slices.SortStableFunc(versions, func(a, b stamped) int { return int(a.Revision - b.Revision) })
		if id.resource == model.EndpointSlices {
			all.assign(id, versions)
		}
	}
	for _, names := range all.slicesOf {
		slices.Sort(names)
	}
	return all
}

// assign records to which Services a slice has belonged.
func (o *objects) assign(id objectID, versions []stamped) {
	for _, v := range versions {
		slice := sliceOf(v.Version)
		if slice == nil {
			continue
		}
		key := serviceKey{id.namespace, model.ServiceOf(slice)}
		if !slices.Contains(o.slicesOf[key], id.name) {
			o.slicesOf[key] = append(o.slicesOf[key], id.name)
		}
	}
}

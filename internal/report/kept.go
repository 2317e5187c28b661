package report

import (
	"container/list"
	"slices"
	"time"

	"github.com/signpostd/signpost/internal/objectmeta"
	"github.com/signpostd/signpost/internal/sanitize"
)

const (
	// maxListed and maxListedBytes bound the listed problems by number and text. The least recently met problem
	// of the [group] with the most is dropped first.
	maxListed, maxListedBytes = 2000, 1 << 20
	// maxText bounds the field and the reason of a listed problem, in bytes.
	maxText = 500
)

// Known is a problem that can be listed.
type Known struct {
	objectmeta.Problem
	// ID is the hash of the problem. Since is when the problem was first met, and Last when it was last met.
	ID          uint64
	Since, Last time.Time
}

// objectOf returns the object of a problem, independent of its UID. The conflicts of an object are apart.
func objectOf(p objectmeta.Problem) objectmeta.Problem {
	return objectmeta.Problem{Kind: p.Kind, Cluster: p.Cluster, Namespace: p.Namespace, Name: p.Name, Conflict: p.Conflict}
}

func (k *Known) size() int {
	return len(k.Kind) + len(k.Cluster) + len(k.Namespace) + len(k.Name) + len(k.UID) + len(k.Field) + len(k.Reason)
}

// group is a namespace, or a linked cluster: those who write there can make any number of problems, and must not
// make those of others disappear from the list.
type group struct{ cluster, namespace string }

func groupOf(p objectmeta.Problem) group {
	if p.Cluster != "" {
		return group{cluster: p.Cluster}
	}
	return group{namespace: p.Namespace}
}

// weight is the part of a problem in the bounds of the list.
func (k *Known) weight() int { return k.size() + maxListedBytes/maxListed }

// problemList has the problems that can be listed. The lock of the reporter guards it.
type problemList struct {
	bytes int
	// order has the problems, the most recently met first; byHash and byObject find them.
	order    *list.List
	byHash   map[uint64]*list.Element
	byObject map[objectmeta.Problem][]uint64
	// weights has the sums of the weights of the groups that have problems.
	weights map[group]int
}

// record records that a problem was met. It drops the object's other problem at the same field, and the
// problems of a former object of the same name.
func (k *problemList) record(p objectmeta.Problem, hash uint64, now time.Time) {
	if e, ok := k.byHash[hash]; ok {
		e.Value.(*Known).Last = now
		k.order.MoveToFront(e)
		return
	}
	for _, other := range slices.Clone(k.byObject[objectOf(p)]) {
		old := k.byHash[other].Value.(*Known)
		if old.Field == p.Field || old.UID != "" && p.UID != "" && old.UID != p.UID {
			k.drop(other)
		}
	}
	p.Field, p.Reason = sanitize.Shorten(p.Field, maxText), sanitize.Shorten(p.Reason, maxText)
	known := &Known{Problem: p, ID: hash, Since: now, Last: now}
	k.byHash[hash] = k.order.PushFront(known)
	k.byObject[objectOf(p)] = append(k.byObject[objectOf(p)], hash)
	k.bytes += known.size()
	k.weights[groupOf(p)] += known.weight()
	for k.order.Len() > maxListed || k.bytes > maxListedBytes && k.order.Len() > 1 {
		k.drop(k.victim())
	}
}

// victim returns the problem to drop when there are too many: the least recently met of the heaviest group.
func (k *problemList) victim() uint64 {
	most := 0
	for _, weight := range k.weights {
		most = max(most, weight)
	}
	e := k.order.Back()
	for k.weights[groupOf(e.Value.(*Known).Problem)] != most {
		e = e.Prev()
	}
	return e.Value.(*Known).ID
}

func (k *problemList) drop(hash uint64) {
	e := k.byHash[hash]
	known := k.order.Remove(e).(*Known)
	delete(k.byHash, hash)
	k.bytes -= known.size()
	g := groupOf(known.Problem)
	if k.weights[g] -= known.weight(); k.weights[g] == 0 {
		delete(k.weights, g)
	}
	o := objectOf(known.Problem)
	if k.byObject[o] = slices.DeleteFunc(k.byObject[o], func(h uint64) bool { return h == hash }); len(k.byObject[o]) == 0 {
		delete(k.byObject, o)
	}
}

// Fixed is an objectmeta.Fixed: it no longer lists the problems of an object, or a conflict of it, that were
// last met before a time.
func (r *Reporter) Fixed(object objectmeta.Problem, before time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, hash := range slices.Clone(r.problems.byObject[objectOf(object)]) {
		known := r.problems.byHash[hash].Value.(*Known)
		if known.Last.Before(before) && (object.Field == "" || object.Field == known.Field) {
			r.problems.drop(hash)
		}
	}
}

// Problems returns the known problems, the most recently met first. It may include problems that were fixed,
// because readers report fixes, but the builders of responses report those of address conflicts only.
func (r *Reporter) Problems() []Known {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]Known, 0, r.problems.order.Len())
	for e := r.problems.order.Front(); e != nil; e = e.Next() {
		all = append(all, *e.Value.(*Known))
	}
	return all
}

package coredns

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/batch"
)

const (
	// transactionSize is etcd's default limit of operations in one transaction.
	transactionSize = 128
	// parallel limits the names that are changed in parallel. etcd syncs parallel transactions to disk
	// together.
	parallel = 16
	// attempts limits the tries of a transaction if another client writes the same entries.
	attempts = 5
)

// errContended: nothing was changed.
var errContended = errors.New("another client keeps changing the same entries in etcd")

// errPartly: some transactions of a name were made, and others were not.
var errPartly = errors.New("only a part of the change was made")

// work is a group with the names of its changes.
type work struct {
	*batch.Group
	names []string
}

// Apply implements provider.Provider.
func (p *coreDNS) Apply(ctx context.Context, _ dns.Zone, changes []dns.Change) error {
	var works []*work
	for _, g := range batch.BySubject(changes) {
		works = append(works, &work{g, namesOf(g)})
	}
	parents := parentsOf(works)
	run := func(w *work) {
		if err := p.do(ctx, w); err != nil {
			w.Err = fmt.Errorf("change %s: %w", describe(w.names), err)
		}
	}
	var above []*work
	var group errgroup.Group
	group.SetLimit(parallel)
	for _, w := range works {
		// A transaction of a name above another changed one would fail whenever a name below is written.
		if slices.ContainsFunc(w.names, func(name string) bool { return parents[name] }) {
			above = append(above, w)
			continue
		}
		group.Go(func() error {
			run(w)
			return nil
		})
	}
	// Errors are in the groups.
	_ = group.Wait()
	for _, w := range above {
		run(w)
	}
	for _, w := range works {
		if w.Err != nil && !nothingMade(w.Err) {
			return w.Err
		}
	}
	return batch.Outcome(batch.Errors(works, len(changes)))
}

// namesOf returns the names of the changes of a group, in their order.
func namesOf(g *batch.Group) (names []string) {
	for _, c := range g.Changes {
		if name := dns.Canonical(c.RecordSet().Name); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// parentsOf returns the names above changed names.
func parentsOf(works []*work) map[string]bool {
	parents := map[string]bool{}
	for _, w := range works {
		for _, name := range w.names {
			for _, at, below := strings.Cut(name, "."); below; _, at, below = strings.Cut(at, ".") {
				parents[at] = true
			}
		}
	}
	return parents
}

// nothingMade reports whether an error says that nothing was changed.
func nothingMade(err error) bool {
	return !errors.Is(err, errPartly) && (provider.NothingMade(err) || errors.Is(err, errContended))
}

// describe returns the names of a work as text.
func describe(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return fmt.Sprintf("%s and %d names that go with it", names[0], len(names)-1)
}

// do makes the changes of a work.
func (p *coreDNS) do(ctx context.Context, w *work) error {
	for range attempts {
		guards, steps, err := p.prepare(ctx, w)
		if err != nil {
			return err
		}
		done, err := p.make(ctx, guards, steps)
		if done || err != nil {
			return err
		}
	}
	return errContended
}

// prepare reads the entries of a work, and returns what to write. guards are conditions in addition
// to those of each step: that no entry was added under its names since they were read.
func (p *coreDNS) prepare(ctx context.Context, w *work) (guards []clientv3.Cmp, steps []step, err error) {
	e := &entries{layout: p.layout, owner: p.owner, byKey: map[string]*entry{}}
	for _, name := range w.names {
		// The entries of a name and of all names below it. In ASCII, 0 follows the slash.
		from := p.layout.key(name)
		to := from + "0"
		counted := p.budget.Part("the name " + name)
		kvs, revision, err := p.store.read(ctx, from, to, counted)
		if err != nil {
			return nil, nil, err
		}
		e.add(kvs)
		guards = append(guards, clientv3.Compare(clientv3.ModRevision(from), "<", revision+1).WithRange(to))
	}
	if errs := provider.Unchanged(w.Changes, e.listed(w.names)); errs != nil {
		// The changes have one subject, so they have the same reason.
		return nil, nil, cmp.Or(errs...)
	}
	for _, c := range w.Changes {
		if err := e.change(c); err != nil {
			return nil, nil, err
		}
	}
	steps, err = e.steps()
	return guards, steps, err
}

// make writes steps in one transaction, or in several if there are too many. It reports whether
// they were written. If it returns false and no error, nothing was written.
func (p *coreDNS) make(ctx context.Context, guards []clientv3.Cmp, steps []step) (bool, error) {
	first := true
	for part := range slices.Chunk(steps, max(transactionSize-len(guards), 1)) {
		var conditions []clientv3.Cmp
		if first {
			conditions = slices.Clone(guards)
		}
		var operations []clientv3.Op
		for _, s := range part {
			conditions = append(conditions, s.condition)
			operations = append(operations, s.operation)
		}
		switch done, err := p.store.write(ctx, conditions, operations); {
		case first && (err != nil || !done):
			return false, err
		case err != nil:
			// err must not be wrapped, because it may say that nothing was made.
			return false, fmt.Errorf("%w, then: %v", errPartly, err)
		case !done:
			return false, fmt.Errorf("%w, then: %v", errPartly, errContended)
		}
		first = false
	}
	return true, nil
}

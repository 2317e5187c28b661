package publisher

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/budget"
)

// storeTimeout ends the calls of the store of budgets.
const storeTimeout = time.Minute

// errNotStored is the error of changes that must be stored before they are made.
var errNotStored = errors.New("what is spent of the budget can't be stored")

// accounts are the budgets of all zones, and what is kept of them outside of the process.
type accounts struct {
	book   *budget.Book
	keeper *budget.Keeper
	// loading is true in a term until the store was read. storing is true while a job uses the
	// store, and retryAt is when that is tried again after failures.
	loading, storing bool
	trouble
	// stored is the number of the state that was stored last.
	stored uint64
}

func newAccounts(c *Config) accounts {
	return accounts{
		book:   budget.NewBook(time.Now(), c.Budget, budget.Publisher{Name: c.Name, Owner: c.Rules.Owner}, c.Settings, c.Approved),
		keeper: budget.NewKeeper(c.Store, c.Budget.Window, c.Log),
	}
}

// beginTerm has the store read, because another process may have spent something.
func (a *accounts) beginTerm() {
	a.book.Start()
	a.loading, a.storing, a.trouble = true, false, trouble{}
}

// due returns when the store has to be used, if it isn't used now.
func (a *accounts) due(latest time.Time) time.Time {
	if a.storing || !a.loading && a.stored == a.book.Number() {
		return latest
	}
	return earliest(latest, a.retryAt)
}

// settled reports whether the store has everything, or can't be used now.
func (a *accounts) settled() bool {
	return !a.storing && (a.err != nil || !a.loading && a.stored == a.book.Number())
}

// remember loads what is stored, or stores what has changed since.
func (p *Publisher) remember(now time.Time) {
	a := &p.accounts
	switch {
	case a.storing || now.Before(a.retryAt):
	case a.loading:
		p.startStoring(func(ctx context.Context) func() {
			loaded, err := a.keeper.Load(ctx)
			return func() { p.loaded(loaded, err) }
		})
	case p.DryRun:
		a.stored = a.book.Number()
	case a.stored != a.book.Number():
		snapshot, number := a.book.Snapshot(now), a.book.Number()
		p.startStoring(func(ctx context.Context) func() {
			err := p.keep(ctx, snapshot)
			return func() { p.kept(number, err) }
		})
	}
}

// startStoring runs a job that uses the store. It belongs to the term, as those of the provider.
func (p *Publisher) startStoring(job func(context.Context) func()) {
	p.accounts.storing = true
	p.startInTerm(storeTimeout, job)
}

// keep stores a snapshot. It may be called outside of the loop.
func (p *Publisher) keep(ctx context.Context, s budget.Snapshot) error {
	if err := p.MayWrite(); err != nil {
		return err
	}
	return p.accounts.keeper.Keep(ctx, s)
}

func (p *Publisher) loaded(loaded *budget.Loaded, err error) {
	a := &p.accounts
	a.storing = false
	if err != nil {
		p.storeFailed(err)
		return
	}
	a.loading, a.trouble = false, trouble{}
	if err := a.book.Restore(time.Now(), loaded); err != nil {
		p.Log.Warn("What was stored of the budgets is ignored", "err", err)
	}
	a.stored = a.book.Number()
}

func (p *Publisher) kept(number uint64, err error) {
	a := &p.accounts
	a.storing = false
	if err != nil {
		p.storeFailed(err)
		return
	}
	a.stored, a.trouble = number, trouble{}
}

// storeFailed has the store used again later. Only changes that count wait for it.
func (p *Publisher) storeFailed(err error) {
	a := &p.accounts
	if p.once != nil {
		p.once.fail(err)
	}
	if a.err == nil {
		p.Log.Error("The store of budgets can't be used; trying again", "err", err)
	}
	a.err, a.retryAt = err, time.Now().Add(backoff(a.failures, p.Interval))
	a.failures++
}

// ration has the changes of a zone wait that are more than its budget allows.
func (p *Publisher) ration(z *zone, now time.Time) {
	if !z.ledger.Decide(now, z.mirror.owned) {
		return
	}
	if plan, ok := z.ledger.Announce(); ok {
		p.announceHold(plan)
	}
	p.Desk.Show(p.accounts.book.Held())
	for name := range z.ledger.Counted() {
		p.rationName(z, z.names.all[name])
	}
	for _, name := range z.ledger.Freed() {
		p.rationName(z, z.names.all[name])
	}
	p.completed(z)
	p.measure(z)
}

// completed tells the budget of a zone when everything was read and planned, also the losses that
// were only delayed then.
func (p *Publisher) completed(z *zone) {
	if !p.complete() || !p.looked || z.names.count(dirty, asking) > 0 {
		return
	}
	if !z.complete {
		if z.firstPass.IsZero() {
			z.firstPass = time.Now()
		}
		z.complete = !z.names.losingSince(z.firstPass)
	}
	if z.complete {
		z.ledger.Complete()
	}
}

// planned reports whether everything was read, and every name planned that can be. A zone that can't
// be read keeps the plans of others from nobody.
func (p *Publisher) planned() bool {
	if !p.complete() || !p.looked || p.zones == nil || p.accounts.loading {
		return false
	}
	for _, z := range p.zones.all() {
		if !z.hopeless() && (!z.known || z.names.count(dirty, asking) > 0) {
			return false
		}
	}
	return true
}

// rationName has the changes of a name wait that are not permitted.
func (p *Publisher) rationName(z *zone, n *nameState) {
	if n == nil || n.phase != planned && n.phase != held {
		return
	}
	permitted := z.ledger.Permitted(n.name, n.plan.changes)
	switch pared := len(permitted) < len(n.plan.changes); {
	case pared && n.reason == "":
		z.names.explain(n, ReasonHeld, "changes of it wait, because they are more than the budget of the zone allows")
	case !pared && n.reason == ReasonHeld:
		z.names.explain(n, "", "")
	}
	z.names.pare(n, permitted)
}

func (p *Publisher) announceHold(plan budget.Plan) {
	deletions, updates := plan.Count()
	message := fmt.Sprintf("zone %s would lose %d of its %d records, which is more than the deletion budget allows, so nothing is deleted", plan.Zone.Name, deletions, plan.Owned)
	why := "find out why no object asks for them any more"
	switch {
	case deletions == 0:
		message = fmt.Sprintf("%d of the %d records of zone %s would get other targets, which is more than the update budget allows, so they stay as they are", updates, plan.Owned, plan.Zone.Name)
		why = "look at the settings that were changed last"
	case updates > 0:
		message += fmt.Sprintf(", and %d would get other targets", updates)
	}
	message += fmt.Sprintf(": to make these changes, run signpost approve %s, or start with --approve-plan=%[1]s; otherwise %s", plan.Hash, why)
	p.Log.Error("Changes are held", "zone", plan.Zone.Name, "deletions", deletions, "updates", updates, "owned", plan.Owned, "plan", plan.Hash, "err", message)
	p.Notify(Notice{Action: ActionFailed, Reason: ReasonHeld, Message: message})
}

// approve does what somebody asks for at the desk. The answer comes when it is stored.
func (p *Publisher) approve(r *budget.Request, now time.Time) {
	if p.term == nil {
		r.Answer(budget.Approval{}, budget.ErrNotLeading)
		return
	}
	a, err := p.accounts.book.Approve(now, r.Hash, r.Except)
	if _, unplanned := p.Desk.Unplanned(); unplanned && errors.Is(err, budget.ErrUnknownPlan) {
		err = budget.ErrNotPlanned
	}
	if err != nil {
		r.Answer(a, err)
		return
	}
	message := fmt.Sprintf("somebody has approved the plan %s of zone %s: %d deletions and %d updates, until %s; %d are left out", a.Plan, a.Zone.Name, a.Deletions, a.Updates, a.Until.UTC().Format(time.RFC3339), a.Excepted)
	p.Log.Warn("Approved", "zone", a.Zone.Name, "plan", a.Plan, "deletions", a.Deletions, "updates", a.Updates, "leftOut", a.Excepted, "until", a.Until)
	p.Notify(Notice{Action: ActionApproved, Reason: ReasonApproved, Message: message})
	snapshot := p.accounts.book.Snapshot(now)
	p.startInTerm(storeTimeout, func(ctx context.Context) func() {
		if !p.DryRun {
			if err := p.keep(ctx, snapshot); err != nil {
				err = fmt.Errorf("the plan %s is approved, but that isn't stored yet: %w", a.Plan, err)
				r.Answer(a, err)
				return func() {}
			}
		}
		r.Answer(a, nil)
		return func() {}
	})
}

// pay pays for the changes of a batch that count, and returns the names that have some. These
// must be stored before they are made.
func (p *Publisher) pay(z *zone, groups []group) map[string]bool {
	counted := map[string]bool{}
	now := time.Now()
	for _, g := range groups {
		if z.ledger.Spend(now, g.name, g.changes) {
			counted[g.name] = true
		}
	}
	return counted
}

// secure stores what was paid for. If that fails, the names that have counted changes get an
// error, and are left out of the batch.
func (p *Publisher) secure(ctx context.Context, s budget.Snapshot, b *batch, counted map[string]bool) {
	if len(counted) == 0 {
		return
	}
	if err := p.keep(ctx, s); err != nil {
		for name := range counted {
			b.errs[name] = fmt.Errorf("%w: %w", errNotStored, err)
		}
	}
}

// changes returns those of the names of a batch that have no error.
func (b *batch) changes() []dns.Change {
	var changes []dns.Change
	for _, g := range b.groups {
		if b.errs[g.name] == nil {
			changes = append(changes, g.changes...)
		}
	}
	return changes
}

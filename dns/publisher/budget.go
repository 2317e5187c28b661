package publisher

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/budget"
)

// storeTimeout limits each call of the budget store.
const storeTimeout = time.Minute

// notStoredError is the error of changes that must be recorded in the budget store before they are
// made, if that failed.
type notStoredError struct{ cause error }

func (e *notStoredError) Error() string {
	return "the spent budget can't be stored: " + e.cause.Error()
}

func (e *notStoredError) Unwrap() error { return e.cause }

// budgetState has the budgets of all zones, and the state of their store.
type budgetState struct {
	book   *budget.Book
	keeper *budget.Keeper
	// loading is true in a term until the store was read. storing is true while a job uses the store.
	// retryAt is the next attempt after a failure. refused is true while the store refuses requests:
	// changes don't wait for it then.
	loading, storing, refused bool
	retryState
	// unknownReported is true after this term has reported that earlier deletions are unknown.
	unknownReported bool
	// stored is the version of the state that was stored last.
	stored uint64
}

func newBudgetState(c *Config) budgetState {
	return budgetState{
		book:   budget.NewBook(time.Now(), c.Budget, budget.Publisher{Name: c.Name, Owner: c.Rules.Owner}, c.Settings, c.Approved),
		keeper: budget.NewKeeper(c.Store, c.Budget.Window, c.Log),
	}
}

// beginTerm loads the store, because another process may have spent budget since.
func (a *budgetState) beginTerm(now time.Time) {
	a.book.Start(now)
	a.loading, a.storing, a.refused, a.unknownReported, a.retryState = true, false, false, false, retryState{}
}

// due returns the time of the next use of the store.
func (a *budgetState) due(latest time.Time) time.Time {
	if a.storing || !a.loading && a.stored == a.book.Number() {
		return latest
	}
	return earliest(latest, a.retryAt)
}

// settled reports whether the store is up to date, or can't be used now.
func (a *budgetState) settled() bool {
	return !a.storing && (a.err != nil || !a.loading && a.stored == a.book.Number())
}

// syncBudgets loads the budgets from the store, or stores their changes.
func (p *Publisher) syncBudgets(now time.Time) {
	a := &p.budgets
	switch {
	case a.storing || now.Before(a.retryAt):
	case a.loading:
		p.startStoring(func(ctx context.Context) func() {
			loaded, err := a.keeper.Load(ctx)
			return func() { p.budgetsLoaded(loaded, err) }
		})
	case p.DryRun:
		a.stored = a.book.Number()
	case a.stored != a.book.Number():
		snapshot, number := a.book.Snapshot(now), a.book.Number()
		p.startStoring(func(ctx context.Context) func() {
			err := p.storeSnapshot(ctx, snapshot)
			return func() { p.snapshotStored(number, err) }
		})
	}
}

// startStoring runs a job that uses the store. Like calls of the provider it belongs to the term.
func (p *Publisher) startStoring(job func(context.Context) func()) {
	p.budgets.storing = true
	p.startInTerm(storeTimeout, job)
}

// storeSnapshot stores a snapshot. It may be called outside of the loop.
func (p *Publisher) storeSnapshot(ctx context.Context, s budget.Snapshot) error {
	if err := p.MayWrite(); err != nil {
		return err
	}
	return p.budgets.keeper.Keep(ctx, s)
}

func (p *Publisher) budgetsLoaded(loaded *budget.Loaded, err error) {
	a := &p.budgets
	a.storing = false
	if err != nil {
		p.storeFailed(err)
		return
	}
	p.storeWorks()
	a.loading = false
	before := a.book.Number()
	if err := a.book.Restore(time.Now(), loaded); err != nil {
		p.Log.Warn("The stored budgets were ignored", "err", err)
	}
	if p.Store == nil && p.once == nil {
		// A user starts each run of Once. A long-running process may have restarted by itself.
		a.book.Distrust()
	}
	if a.stored == before {
		a.stored = a.book.Number()
	}
}

func (p *Publisher) snapshotStored(number uint64, err error) {
	a := &p.budgets
	a.storing = false
	if err != nil {
		p.storeFailed(err)
		return
	}
	a.stored = number
	p.storeWorks()
}

// storeFailed schedules a retry of the store. Until then, changes that count against the budget
// wait. If the store refuses requests, they don't wait: the budget that this process knows of
// applies.
func (p *Publisher) storeFailed(err error) {
	a := &p.budgets
	if p.once != nil {
		p.once.fail(err)
	}
	if errors.Is(err, budget.ErrNoStore) {
		p.storeRefused()
	}
	if a.err == nil || a.err.Error() != err.Error() {
		message := p.storeProblem(err)
		p.Log.Warn("Budgets can't be stored; trying again", "err", message)
		p.Notify(Notice{Action: ActionFailed, Reason: ReasonStore, Message: message})
	}
	a.err, a.retryAt = err, time.Now().Add(backoff(a.failures, p.Interval))
	a.failures++
	p.Metrics.storeFailed.Set(1)
}

// storeRefused continues without a store.
func (p *Publisher) storeRefused() {
	a := &p.budgets
	if a.refused {
		return
	}
	a.refused = true
	if a.loading {
		// Restore can't fail on empty text.
		_ = a.book.Restore(time.Now(), nil)
	}
	a.book.Distrust()
}

// storeProblem describes an error of the store and its consequence.
func (p *Publisher) storeProblem(err error) string {
	if errors.Is(err, budget.ErrNoStore) {
		return fmt.Sprintf("a restart loses budgets and approvals, so deletions in the first %v after a start need an approval until this works: %v", p.Budget.Window, err)
	}
	return "deletions wait until this works: " + err.Error()
}

func (p *Publisher) storeWorks() {
	a := &p.budgets
	if a.err != nil {
		p.Log.Info("Budgets are stored again")
	}
	a.refused, a.retryState = false, retryState{}
	p.Metrics.storeFailed.Set(0)
}

// holdOverBudget holds the changes of a zone that exceed its budget.
func (p *Publisher) holdOverBudget(z *zone, now time.Time) {
	different := z.ledger.Decide(now, z.mirror.owned)
	p.reportUnknown(z)
	if !different {
		return
	}
	if plan, ok := z.ledger.Announce(); ok {
		p.announceHold(plan)
	}
	p.Approvals.Show(p.budgets.book.Held())
	for name := range z.ledger.Counted() {
		p.holdNameOverBudget(z, z.names.all[name])
	}
	p.markComplete(z)
	p.measure(z)
}

// retainBudgets ends the held plans of zones that no longer exist. While the list of zones may be
// incomplete, a missing zone may exist, so its plans stay.
func (p *Publisher) retainBudgets(exist []dns.Zone) {
	if p.zoneList.unlisted != nil {
		return
	}
	p.budgets.book.Retain(time.Now(), exist)
	p.Approvals.Show(p.budgets.book.Held())
}

// markComplete tells the budget of a zone that everything was read and planned, including delayed
// deletions.
func (p *Publisher) markComplete(z *zone) {
	if !p.complete() || !p.sourcesEvaluated || z.names.count(dirty, asking) > 0 {
		return
	}
	if !z.complete {
		if z.firstPass.IsZero() {
			z.firstPass = time.Now()
		}
		z.complete = !z.names.stillLosing(z.firstPass)
	}
	if z.complete {
		z.ledger.Complete()
	}
}

// planned reports whether all sources and zones were read and every name was planned that can be.
// Zones that can't be read don't count, so that one broken zone doesn't block the others.
func (p *Publisher) planned() bool {
	if !p.complete() || !p.sourcesEvaluated || p.zones == nil || p.budgets.loading {
		return false
	}
	for _, z := range p.zones.all() {
		if !z.failed() && (!z.upToDate || z.names.count(dirty, asking) > 0) {
			return false
		}
	}
	return true
}

// holdNameOverBudget holds those changes of a name that the budget doesn't permit.
func (p *Publisher) holdNameOverBudget(z *zone, n *nameState) {
	if n == nil || n.phase != planned && n.phase != held {
		return
	}
	permitted := z.ledger.Permitted(n.name, n.plan.changes)
	switch pared := len(permitted) < len(n.plan.changes); {
	case pared && z.ledger.Excepted(n.name) && (n.reason == "" || n.reason == ReasonHeld):
		z.names.setReason(n, ReasonHeld, "changes of it wait for another approval, because the last one left the name out (--except)")
	case pared && n.reason == "":
		z.names.setReason(n, ReasonHeld, "changes of it wait, because they are more than the budget of the zone allows")
	case !pared && n.reason == ReasonHeld:
		z.names.setReason(n, "", "")
	}
	z.names.permit(n, permitted)
}

func (p *Publisher) announceHold(plan budget.Plan) {
	deletions, updates := plan.Count()
	message := fmt.Sprintf("zone %s would lose %d of its %d records, %s, so nothing is deleted", plan.Zone.Name, deletions, plan.Owned, p.spentText(plan.Spent))
	why := "find out why no object asks for them any more"
	switch {
	case deletions == 0:
		message = fmt.Sprintf("%d of the %d records of zone %s would get other targets, which is more than the update budget allows, so they stay unchanged", updates, plan.Owned, plan.Zone.Name)
		why = "look at the settings that were changed last"
	case updates > 0:
		message += fmt.Sprintf(", and %d would get other targets", updates)
	}
	switch excepted := plan.Excepted; {
	case excepted == len(plan.Changes):
		message = fmt.Sprintf("%d deletions and %d updates in zone %s wait for another approval, because the last one left their names out (--except)", deletions, updates, plan.Zone.Name)
	case excepted > 0:
		message += fmt.Sprintf(" (an approval left out %d of these changes)", excepted)
	}
	if !plan.UnknownUntil.IsZero() {
		message += fmt.Sprintf(" (earlier deletions are unknown after this start, so nothing is deleted without approval until %s)", plan.UnknownUntil.UTC().Format(time.RFC3339))
	}
	message += fmt.Sprintf(": to make these changes, run signpost approve %s, or start with --approve-plan=%[1]s; otherwise %s", plan.Hash, why)
	p.Log.Error("Changes are held", "zone", plan.Zone.Name, "deletions", deletions, "updates", updates, "owned", plan.Owned, "plan", plan.Hash, "err", message)
	p.Notify(Notice{Action: ActionFailed, Reason: ReasonHeld, Message: message})
}

// spentText says what was spent of the budget of deletions, and when there is room.
func (p *Publisher) spentText(s budget.Spent) string {
	switch {
	case s.Limit < 0:
		return "which is more than the budget allows"
	case s.Changes == 0:
		return fmt.Sprintf("and at most %d are deleted in %v without approval (--max-deletions, --max-deletions-percent)", s.Limit, p.Budget.Window)
	}
	text := fmt.Sprintf("and %d of at most %d were deleted in the last %v (--max-deletions, --max-deletions-percent)", s.Changes, s.Limit, p.Budget.Window)
	if !s.AvailableAt.IsZero() {
		text += ", with room for these at " + s.AvailableAt.UTC().Format(time.RFC3339)
	}
	return text
}

// approve approves a plan for a request from the approval queue. The response is sent once the
// approval is stored.
func (p *Publisher) approve(r *budget.Request, now time.Time) {
	if p.term == nil {
		r.Decide(budget.Approval{}, budget.ErrNotLeading)
		return
	}
	a, err := p.budgets.book.Approve(now, r.Hash, r.Except)
	if _, unplanned := p.Approvals.Unplanned(); unplanned && errors.Is(err, budget.ErrUnknownPlan) {
		err = budget.ErrNotPlanned
	}
	if err != nil {
		r.Decide(a, err)
		return
	}
	message := fmt.Sprintf("the plan %s of zone %s was approved: %d deletions and %d updates, until %s; %d are left out", a.Plan, a.Zone.Name, a.Deletions, a.Updates, a.Until.UTC().Format(time.RFC3339), a.Excepted)
	p.Log.Warn("Approved a plan", "zone", a.Zone.Name, "plan", a.Plan, "deletions", a.Deletions, "updates", a.Updates, "leftOut", a.Excepted, "until", a.Until)
	p.Notify(Notice{Action: ActionApproved, Reason: ReasonApproved, Message: message})
	snapshot, stored := p.budgets.book.Snapshot(now), !p.DryRun && !p.budgets.refused
	p.startInTerm(storeTimeout, func(ctx context.Context) func() {
		if stored {
			if err := p.storeSnapshot(ctx, snapshot); err != nil {
				err = fmt.Errorf("the plan %s is approved, but that isn't stored yet: %w", a.Plan, err)
				r.Decide(a, err)
				return func() {}
			}
		}
		r.Decide(a, nil)
		return func() {}
	})
}

// reportUnknown reports once per term that earlier deletions in a zone are unknown. Changes that
// count against the budget then need an approval.
func (p *Publisher) reportUnknown(z *zone) {
	a, until := &p.budgets, z.ledger.UnknownUntil()
	if until.IsZero() || a.unknownReported || a.err != nil {
		return
	}
	a.unknownReported = true
	p.Log.Warn("Earlier deletions are unknown after this start; deletions need an approval for a while", "zone", z.Name, "owned", z.mirror.owned, "until", until, "reason", p.unknownCause())
}

// unknownCause says why earlier deletions are unknown.
func (p *Publisher) unknownCause() string {
	if p.Store == nil {
		return "budgets are not stored"
	}
	return "the stored budgets have nothing about the zone: this is the first start with its records, or the ConfigMap was emptied"
}

// chargeBudget charges the budget for a batch, and returns the names with charged changes. Unless the store
// refuses requests, the charge must be stored before the changes are made.
func (p *Publisher) chargeBudget(z *zone, groups []group) map[string]bool {
	counted := map[string]bool{}
	now := time.Now()
	for _, g := range groups {
		if z.ledger.Spend(now, g.name, g.changes) {
			counted[g.name] = true
		}
	}
	if p.budgets.refused {
		return nil
	}
	return counted
}

// storeCharges stores the charge of a batch. If that fails, the names with charged changes get an error
// and leave the batch.
func (p *Publisher) storeCharges(ctx context.Context, s budget.Snapshot, b *batch, counted map[string]bool) {
	if len(counted) == 0 {
		return
	}
	if err := p.storeSnapshot(ctx, s); err != nil {
		for name := range counted {
			b.errs[name] = &notStoredError{err}
		}
	}
}

// changes returns the changes of all names of the batch that have no error.
func (b *batch) changes() []dns.Change {
	var changes []dns.Change
	for _, g := range b.groups {
		if b.errs[g.name] == nil {
			changes = append(changes, g.changes...)
		}
	}
	return changes
}

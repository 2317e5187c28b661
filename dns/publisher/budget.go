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

// notStoredError is the error of changes that must be stored before they are made.
type notStoredError struct{ cause error }

func (e *notStoredError) Error() string {
	return "what is spent of the budget can't be stored: " + e.cause.Error()
}

func (e *notStoredError) Unwrap() error { return e.cause }

// accounts are the budgets of all zones, and what is kept of them outside of the process.
type accounts struct {
	book   *budget.Book
	keeper *budget.Keeper
	// loading is true in a term until the store was read. storing is true while a job uses the
	// store, and retryAt is when that is tried again after failures. refused is true while the store
	// refuses requests: then nothing waits for it.
	loading, storing, refused bool
	trouble
	// toldUnknown is true when this term has said that what was deleted before isn't known.
	toldUnknown bool
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
func (a *accounts) beginTerm(now time.Time) {
	a.book.Start(now)
	a.loading, a.storing, a.refused, a.toldUnknown, a.trouble = true, false, false, false, trouble{}
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
	p.storeWorks()
	a.loading = false
	before := a.book.Number()
	if err := a.book.Restore(time.Now(), loaded); err != nil {
		p.Log.Warn("The stored budgets were ignored", "err", err)
	}
	if p.Store == nil && p.once == nil {
		// Each run of Once is asked for by somebody. A process that runs may restart by itself.
		a.book.Distrust()
	}
	if a.stored == before {
		a.stored = a.book.Number()
	}
}

func (p *Publisher) kept(number uint64, err error) {
	a := &p.accounts
	a.storing = false
	if err != nil {
		p.storeFailed(err)
		return
	}
	a.stored = number
	p.storeWorks()
}

// storeFailed has the store used again later. Until then counted changes wait, unless the store refuses
// requests: then they are made within the budget that this process knows of.
func (p *Publisher) storeFailed(err error) {
	a := &p.accounts
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

// storeRefused has the publisher continue without a store.
func (p *Publisher) storeRefused() {
	a := &p.accounts
	if a.refused {
		return
	}
	a.refused = true
	if a.loading {
		// Without a text nothing can be wrong with it.
		_ = a.book.Restore(time.Now(), nil)
	}
	a.book.Distrust()
}

// storeProblem says what follows from an error of the store.
func (p *Publisher) storeProblem(err error) string {
	if errors.Is(err, budget.ErrNoStore) {
		return fmt.Sprintf("a restart forgets what was deleted and approved, so deletions in the first %v after a start need an approval until this works: %v", p.Budget.Window, err)
	}
	return "deletions wait until this works: " + err.Error()
}

func (p *Publisher) storeWorks() {
	a := &p.accounts
	if a.err != nil {
		p.Log.Info("Budgets are stored again")
	}
	a.refused, a.trouble = false, trouble{}
	p.Metrics.storeFailed.Set(0)
}

// ration has the changes of a zone wait that are more than its budget allows.
func (p *Publisher) ration(z *zone, now time.Time) {
	different := z.ledger.Decide(now, z.mirror.owned)
	p.tellUnknown(z)
	if !different {
		return
	}
	if plan, ok := z.ledger.Announce(); ok {
		p.announceHold(plan)
	}
	p.Approvals.Show(p.accounts.book.Held())
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
	message := fmt.Sprintf("zone %s would lose %d of its %d records, %s, so nothing is deleted", plan.Zone.Name, deletions, plan.Owned, p.spentText(plan.Spent))
	why := "find out why no object asks for them any more"
	switch {
	case deletions == 0:
		message = fmt.Sprintf("%d of the %d records of zone %s would get other targets, which is more than the update budget allows, so they stay as they are", updates, plan.Owned, plan.Zone.Name)
		why = "look at the settings that were changed last"
	case updates > 0:
		message += fmt.Sprintf(", and %d would get other targets", updates)
	}
	if !plan.UnknownUntil.IsZero() {
		message += fmt.Sprintf(" (what was deleted before this start is not known, so nothing is deleted without approval until %s)", plan.UnknownUntil.UTC().Format(time.RFC3339))
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
	if !s.Room.IsZero() {
		text += ", with room for these at " + s.Room.UTC().Format(time.RFC3339)
	}
	return text
}

// approve does what somebody asks for at the desk. The answer comes when it is stored.
func (p *Publisher) approve(r *budget.Request, now time.Time) {
	if p.term == nil {
		r.Decide(budget.Approval{}, budget.ErrNotLeading)
		return
	}
	a, err := p.accounts.book.Approve(now, r.Hash, r.Except)
	if _, unplanned := p.Approvals.Unplanned(); unplanned && errors.Is(err, budget.ErrUnknownPlan) {
		err = budget.ErrNotPlanned
	}
	if err != nil {
		r.Decide(a, err)
		return
	}
	message := fmt.Sprintf("somebody has approved the plan %s of zone %s: %d deletions and %d updates, until %s; %d are left out", a.Plan, a.Zone.Name, a.Deletions, a.Updates, a.Until.UTC().Format(time.RFC3339), a.Excepted)
	p.Log.Warn("Approved", "zone", a.Zone.Name, "plan", a.Plan, "deletions", a.Deletions, "updates", a.Updates, "leftOut", a.Excepted, "until", a.Until)
	p.Notify(Notice{Action: ActionApproved, Reason: ReasonApproved, Message: message})
	snapshot, stored := p.accounts.book.Snapshot(now), !p.DryRun && !p.accounts.refused
	p.startInTerm(storeTimeout, func(ctx context.Context) func() {
		if stored {
			if err := p.keep(ctx, snapshot); err != nil {
				err = fmt.Errorf("the plan %s is approved, but that isn't stored yet: %w", a.Plan, err)
				r.Decide(a, err)
				return func() {}
			}
		}
		r.Decide(a, nil)
		return func() {}
	})
}

// tellUnknown says once in a term that what was deleted in a zone before isn't known, which has counted
// changes wait for an approval.
func (p *Publisher) tellUnknown(z *zone) {
	a, until := &p.accounts, z.ledger.UnknownUntil()
	if until.IsZero() || a.toldUnknown || a.err != nil {
		return
	}
	a.toldUnknown = true
	p.Log.Warn("It isn't known what was deleted before this start, so deletions need an approval for a while", "zone", z.Name, "owned", z.mirror.owned, "until", until, "cause", p.unknownCause())
}

// unknownCause says why it isn't known what was deleted before.
func (p *Publisher) unknownCause() string {
	if p.Store == nil {
		return "budgets are not stored"
	}
	return "the stored budgets have nothing about the zone: this is the first start with its records, or somebody has emptied the ConfigMap"
}

// pay pays for the changes of a batch that count, and returns the names that have some. These
// must be stored before they are made, unless the store refuses requests anyway.
func (p *Publisher) pay(z *zone, groups []group) map[string]bool {
	counted := map[string]bool{}
	now := time.Now()
	for _, g := range groups {
		if z.ledger.Spend(now, g.name, g.changes) {
			counted[g.name] = true
		}
	}
	if p.accounts.refused {
		return nil
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
			b.errs[name] = &notStoredError{err}
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

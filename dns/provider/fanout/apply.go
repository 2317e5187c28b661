package fanout

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// Apply implements [provider.Provider]. An error of one provider doesn't stop the others. A change
// counts as made if all providers have made it.
func (p *Provider) Apply(ctx context.Context, dnsZone dns.Zone, changes []dns.Change) error {
	z, err := p.find(dnsZone.Name)
	if err != nil {
		return err
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	// After an unknown outcome, the records of that provider must be read again.
	if err := p.read(ctx, z); err != nil {
		return fmt.Errorf("list zone %s before changing it: %w", z.Name, err)
	}
	refused := make([]error, len(changes))
	for i, err := range provider.Unchanged(changes, z.present(changes)) {
		refused[i] = err
	}
	for i, c := range changes {
		if refused[i] == nil {
			refused[i] = p.refuse(z, c)
		}
	}
	shares := make([]*share, len(p.members))
	for i := range shares {
		shares[i] = newShare(z, i, changes, refused)
	}
	p.each(func(i int, member provider.Provider) error {
		shares[i].apply(ctx, member, z.parts[i])
		return nil
	})
	for _, s := range shares {
		z.note(s)
	}
	return z.merge(shares, changes, refused)
}

// share is the work of one provider.
type share struct {
	member int
	// changes are the changes for the provider. index has the index of each among all changes.
	changes []dns.Change
	index   []int
	// outcomes and assigned have an entry for each of all changes. assigned says which ones the provider has
	// to make.
	outcomes []error
	assigned []bool
	// unknown is an error with an unknown outcome.
	unknown error
	// dryRun is true if a dry run has sent nothing.
	dryRun bool
}

// refuse returns why no provider may make a change, or nil.
func (p *Provider) refuse(z *zone, c dns.Change) error {
	key := c.RecordSet().Key()
	if closest := p.closest(key.Name); closest == nil || closest.Name != z.Name {
		return fmt.Errorf("%w: %s is not in the zone %s", provider.ErrRejected, key.Name, z.Name)
	}
	for i, has := range z.has {
		if r := has[key]; !z.unfinished[key] && !expected(r, c) {
			return fmt.Errorf("%w: provider %d has other targets, %q, for %s %s: remove the record there", provider.ErrRejected, i+1, r.Targets, key.Name, key.Type)
		}
	}
	return nil
}

// expected reports whether a change may replace what a provider has: nothing, the listed, or the
// wanted record set.
func expected(has *dns.RecordSet, c dns.Change) bool {
	return has == nil || c.Old != nil && has.SameTargets(c.Old) || c.New != nil && has.SameTargets(c.New)
}

// newShare returns the work of a provider. Old of its changes is what this provider has.
func newShare(z *zone, member int, changes []dns.Change, refused []error) *share {
	s := &share{member: member, outcomes: make([]error, len(changes)), assigned: make([]bool, len(changes))}
	for i, c := range changes {
		own := dns.Change{Old: z.has[member][c.RecordSet().Key()], New: c.New}
		if refused[i] == nil && !hasNoEffect(own) {
			s.changes = append(s.changes, own)
			s.index = append(s.index, i)
			s.assigned[i] = true
		}
	}
	return s
}

// hasNoEffect reports whether a change has no effect.
func hasNoEffect(c dns.Change) bool {
	if c.Old == nil || c.New == nil {
		return c.Old == c.New
	}
	return c.Old.SameTargets(c.New) && (c.New.TTL <= 0 || c.Old.TTL == c.New.TTL) && slices.Equal(c.Old.Properties, c.New.Properties)
}

// apply has the provider make its changes.
func (s *share) apply(ctx context.Context, member provider.Provider, part dns.Zone) {
	if len(s.changes) == 0 {
		return
	}
	each, err := provider.Outcomes(member.Apply(ctx, part, s.changes), len(s.changes))
	for i, outcome := range each {
		s.outcomes[s.index[i]] = outcome
	}
	switch {
	case err == nil:
	case provider.NothingMade(err):
		s.dryRun = errors.Is(err, provider.ErrDryRun)
		for _, i := range s.index {
			s.outcomes[i] = err
		}
	default:
		s.unknown = fmt.Errorf("provider %d: %w", s.member+1, err)
	}
}

// note updates the known records of a provider.
func (z *zone) note(s *share) {
	if s.unknown != nil {
		z.has[s.member] = nil
		return
	}
	stale := false
	for n, c := range s.changes {
		switch {
		case errors.Is(s.outcomes[s.index[n]], provider.ErrStale):
			stale = true
		case s.outcomes[s.index[n]] != nil:
		case c.New == nil:
			delete(z.has[s.member], c.Old.Key())
		default:
			z.has[s.member][c.New.Key()] = c.New
		}
	}
	if stale {
		// The provider has something else than what was read.
		z.has[s.member] = nil
	}
}

// present returns the listed record sets with the keys of changes.
func (z *zone) present(changes []dns.Change) []*dns.RecordSet {
	var present []*dns.RecordSet
	for _, c := range changes {
		if r := z.combine(c.RecordSet().Key()); r != nil {
			present = append(present, r)
		}
	}
	return present
}

// merge returns the error for all providers, and notes which changes are unfinished.
func (z *zone) merge(shares []*share, changes []dns.Change, refused []error) error {
	var unknown error
	for _, s := range shares {
		if s.dryRun {
			return provider.ErrDryRun
		}
		unknown = errors.Join(unknown, s.unknown)
	}
	failed, letIn := 0, false
	errs := make([]error, len(changes))
	for i, c := range changes {
		made, err := outcome(shares, i)
		if made && (err != nil || unknown != nil) {
			z.unfinished[c.RecordSet().Key()] = true
		}
		if errs[i] = errors.Join(refused[i], err); errs[i] != nil {
			failed++
		}
		letIn = letIn || made || !errors.Is(errs[i], provider.ErrCredentials)
	}
	switch {
	case unknown != nil:
		return fmt.Errorf("change zone %s: %w", z.Name, unknown)
	case failed == 0:
		return nil
	case !letIn:
		return fmt.Errorf("change zone %s: %w", z.Name, errs[0])
	}
	return &provider.ApplyError{Errs: errs}
}

// outcome reports whether a provider may have made a change, and returns the errors of all
// providers.
func outcome(shares []*share, i int) (made bool, err error) {
	var errs []error
	for _, s := range shares {
		if s.outcomes[i] != nil {
			errs = append(errs, fmt.Errorf("provider %d: %w", s.member+1, s.outcomes[i]))
		}
		made = made || s.assigned[i] && s.outcomes[i] == nil
	}
	return made, errors.Join(errs...)
}

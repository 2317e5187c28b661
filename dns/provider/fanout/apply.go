package fanout

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// Apply implements [provider.Provider]. The error of one provider doesn't keep changes from the
// others; a change was made when all have made it.
func (p *Provider) Apply(ctx context.Context, dnsZone dns.Zone, changes []dns.Change) error {
	z, err := p.find(dnsZone.Name)
	if err != nil {
		return err
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	// After an outcome that nobody knows, what a provider has must be read again.
	if err := p.read(ctx, z); err != nil {
		return fmt.Errorf("list zone %s before changing it: %w", z.Name, err)
	}
	refused := make([]error, len(changes))
	for i, c := range changes {
		refused[i] = p.refuse(z, c)
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

// share is what one provider has to do of the changes.
type share struct {
	member int
	// changes are those for the provider, and index is where each is among all.
	changes []dns.Change
	index   []int
	// outcomes and asked have an entry for each of all changes; asked says which are its own.
	outcomes []error
	asked    []bool
	// unknown is an error after which nobody knows what was made.
	unknown error
	// dry is true when nothing was sent because of a dry run.
	dry bool
}

// refuse returns why no provider is to make a change.
func (p *Provider) refuse(z *zone, c dns.Change) error {
	key := c.RecordSet().Key()
	if closest := p.closest(key.Name); closest == nil || closest.Name != z.Name {
		return fmt.Errorf("%w: %s is not in the zone %s", provider.ErrRejected, key.Name, z.Name)
	}
	for i, has := range z.has {
		if r := has[key]; !z.unfinished[key] && !expected(r, c) {
			return fmt.Errorf("%w: provider %d has the targets %q under %s %s, which others don't have", provider.ErrRejected, i+1, r.Targets, key.Name, key.Type)
		}
	}
	return nil
}

// expected reports whether a provider may do away with what it has: nothing, what was
// listed, or what there is to be.
func expected(has *dns.RecordSet, c dns.Change) bool {
	return has == nil || c.Old != nil && sameTargets(has, c.Old) || c.New != nil && sameTargets(has, c.New)
}

// newShare works out what a provider has to do, with what it has in place of what was
// listed.
func newShare(z *zone, member int, changes []dns.Change, refused []error) *share {
	s := &share{member: member, outcomes: make([]error, len(changes)), asked: make([]bool, len(changes))}
	for i, c := range changes {
		own := dns.Change{Old: z.has[member][c.RecordSet().Key()], New: c.New}
		if refused[i] == nil && !idle(own) {
			s.changes = append(s.changes, own)
			s.index = append(s.index, i)
			s.asked[i] = true
		}
	}
	return s
}

// idle reports whether there is nothing to do.
func idle(c dns.Change) bool {
	if c.Old == nil || c.New == nil {
		return c.Old == c.New
	}
	return sameTargets(c.Old, c.New) && (c.New.TTL <= 0 || c.Old.TTL == c.New.TTL) && slices.Equal(c.Old.Properties, c.New.Properties)
}

// apply has the provider do its share.
func (s *share) apply(ctx context.Context, member provider.Provider, part dns.Zone) {
	if len(s.changes) == 0 {
		return
	}
	err := member.Apply(ctx, part, s.changes)
	var applyError *provider.ApplyError
	switch {
	case err == nil:
	case errors.As(err, &applyError):
		s.take(applyError)
	case errors.Is(err, provider.ErrRejected), errors.Is(err, provider.ErrCredentials), errors.Is(err, provider.ErrDryRun):
		s.dry = errors.Is(err, provider.ErrDryRun)
		for _, i := range s.index {
			s.outcomes[i] = err
		}
	default:
		s.unknown = fmt.Errorf("provider %d: %w", s.member+1, err)
	}
}

// take notes an error that is about each change.
func (s *share) take(err *provider.ApplyError) {
	if len(err.Errs) != len(s.changes) {
		s.unknown = fmt.Errorf("provider %d: %d outcomes of %d changes: %s", s.member+1, len(err.Errs), len(s.changes), err)
		return
	}
	for i, e := range err.Errs {
		s.outcomes[s.index[i]] = e
	}
}

// note keeps what a provider has after its share.
func (z *zone) note(s *share) {
	if s.unknown != nil {
		z.has[s.member] = nil
		return
	}
	for n, c := range s.changes {
		switch {
		case s.outcomes[s.index[n]] != nil:
		case c.New == nil:
			delete(z.has[s.member], c.Old.Key())
		default:
			z.has[s.member][c.New.Key()] = c.New
		}
	}
}

// merge returns the outcome of all, and notes which changes are unfinished.
func (z *zone) merge(shares []*share, changes []dns.Change, refused []error) error {
	var unknown error
	for _, s := range shares {
		if s.dry {
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

// outcome returns whether any provider may have made a change, and the errors of all.
func outcome(shares []*share, i int) (made bool, err error) {
	var errs []error
	for _, s := range shares {
		if s.outcomes[i] != nil {
			errs = append(errs, fmt.Errorf("provider %d: %w", s.member+1, s.outcomes[i]))
		}
		made = made || s.asked[i] && s.outcomes[i] == nil
	}
	return made, errors.Join(errs...)
}

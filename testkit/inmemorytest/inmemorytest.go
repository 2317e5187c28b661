// Package inmemorytest is the provider of package inmemory with hooks: tests make its calls fail before,
// after, or in the middle of their work, or wait.
//
// # Concurrency
//
// All methods may be called from any goroutine. Hooks are called without a lock, so they may block
// and may use the provider.
package inmemorytest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider/inmemory"
)

// Provider has zones in memory. Its other methods, such as Put, call no hooks.
type Provider struct {
	*inmemory.Provider
	hooks atomic.Pointer[Hooks]
}

// New returns a provider with empty zones and no hooks.
func New(zones ...string) *Provider { return &Provider{Provider: inmemory.New(zones...)} }

// SetHooks sets the hooks of later calls.
func (p *Provider) SetHooks(h Hooks) { p.hooks.Store(&h) }

// Zones implements [dns/provider.Provider].
func (p *Provider) Zones(ctx context.Context) ([]dns.Zone, error) {
	hooks, call := p.hooks.Load(), Call{Operation: Zones}
	if err := hooks.before(ctx, call); err != nil {
		return nil, err
	}
	zones, err := p.Provider.Zones(ctx)
	if err := hooks.after(ctx, call, err); err != nil {
		return nil, err
	}
	return zones, nil
}

// Records implements [dns/provider.Provider].
func (p *Provider) Records(ctx context.Context, zone dns.Zone) ([]*dns.RecordSet, error) {
	hooks, call := p.hooks.Load(), Call{Operation: Records, Zone: zone}
	if err := hooks.before(ctx, call); err != nil {
		return nil, err
	}
	list, err := p.Provider.Records(ctx, zone)
	if err := hooks.after(ctx, call, err); err != nil {
		return nil, err
	}
	return list, nil
}

// Apply implements [dns/provider.Provider].
func (p *Provider) Apply(ctx context.Context, zone dns.Zone, changes []dns.Change) error {
	hooks, call := p.hooks.Load(), Call{Operation: Apply, Zone: zone, Changes: changes}
	err := hooks.before(ctx, call)
	if interrupted, ok := errors.AsType[*Interrupted](err); ok {
		if err := p.Provider.Apply(ctx, zone, changes[:min(interrupted.Made, len(changes))]); err != nil {
			return err
		}
		return interrupted.Err
	}
	if err != nil {
		return err
	}
	return hooks.after(ctx, call, p.Provider.Apply(ctx, zone, changes))
}

// Operation is a method of [dns/provider.Provider].
type Operation string

// The methods that hooks are called around.
const (
	Zones   Operation = "zones"
	Records Operation = "records"
	Apply   Operation = "apply"
)

// Call is one call of a method.
type Call struct {
	Operation Operation
	// Zone is the listed or changed zone. Changes are the changes to make; they must not be modified.
	Zone    dns.Zone
	Changes []dns.Change
}

// Hooks are functions that are called around each call. They may be nil.
type Hooks struct {
	// Before is called first. If it returns an error, nothing is done, and the call returns the error.
	// If that is an [Interrupted], a part is done.
	Before func(ctx context.Context, call Call) error
	// After is called after the work, with its error. The call returns the result of After, so that a
	// response can be lost.
	After func(ctx context.Context, call Call, err error) error
}

// Interrupted is an error of [Hooks.Before]. Apply then makes only the first changes, and returns
// Err.
type Interrupted struct {
	Made int
	Err  error
}

// Error implements error.
func (i *Interrupted) Error() string {
	return fmt.Sprintf("interrupted after %d changes: %v", i.Made, i.Err)
}

// Unwrap returns the error of Apply.
func (i *Interrupted) Unwrap() error { return i.Err }

func (h *Hooks) before(ctx context.Context, call Call) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", call.Operation, err)
	}
	if h == nil || h.Before == nil {
		return nil
	}
	return h.Before(ctx, call)
}

func (h *Hooks) after(ctx context.Context, call Call, err error) error {
	if h == nil || h.After == nil {
		return err
	}
	return h.After(ctx, call, err)
}

package inmemory

import (
	"context"
	"fmt"

	"github.com/signpostd/signpost/dns"
)

// Operation is a method of [provider.Provider].
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

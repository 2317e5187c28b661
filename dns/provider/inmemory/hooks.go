package inmemory

import (
	"context"
	"fmt"

	"github.com/signpostd/signpost/dns"
)

// Operation is a method of [provider.Provider].
type Operation string

// The operations.
const (
	Zones   Operation = "zones"
	Records Operation = "records"
	Apply   Operation = "apply"
)

// Call is one call of a method.
type Call struct {
	Operation Operation
	// Zone is the zone that is listed or changed, and Changes are the changes to make. They
	// belong to the caller and must not be changed.
	Zone    dns.Zone
	Changes []dns.Change
}

// Hooks are functions that are called around each call. They may be nil.
type Hooks struct {
	// Before is called first. If it returns an error, nothing is done, and the call returns
	// the error. If that is an [Interrupted], a part is done.
	Before func(ctx context.Context, call Call) error
	// After is called when the work is done, or has failed with err. The call returns what
	// After returns, so that an answer can be lost.
	After func(ctx context.Context, call Call, err error) error
}

// Interrupted is an error of [Hooks.Before]. It makes Apply make the first changes only, and
// then return Err.
type Interrupted struct {
	Made int
	Err  error
}

// Error implements error.
func (i *Interrupted) Error() string {
	return fmt.Sprintf("interrupted after %d changes: %v", i.Made, i.Err)
}

// Unwrap returns what Apply returns.
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

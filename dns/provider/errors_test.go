package provider

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

// TestClasses shows what an error says about the changes of a call.
func TestClasses(t *testing.T) {
	for name, test := range map[string]struct {
		err              error
		nothingMade, all bool
	}{
		"rejected":            {fmt.Errorf("no: %w", ErrRejected), true, false},
		"out of date":         {ErrStale, true, false},
		"credentials":         {fmt.Errorf("%w: %w", ErrCredentials, errors.New("403")), true, true},
		"throttled":           {&ThrottledError{Err: ErrRejected}, true, true},
		"unread":              {Unread(ErrRejected), true, true},
		"dry run":             {ErrDryRun, true, true},
		"no answer":           {context.DeadlineExceeded, false, false},
		"one change rejected": {&ApplyError{Errs: []error{nil, ErrRejected}}, false, false},
		"one throttled":       {fmt.Errorf("zone: %w", &ApplyError{Errs: []error{nil, ErrThrottled}}), false, false},
		"not tried":           {ErrNotTried, false, false},
		"none":                {nil, false, false},
	} {
		if got := NothingMade(test.err); got != test.nothingMade {
			t.Errorf("%s: NothingMade is %v", name, got)
		}
		if got := StopsAll(test.err); got != test.all {
			t.Errorf("%s: StopsAll is %v", name, got)
		}
	}
}

package provider

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

// TestClasses shows what each class of errors says about the changes of a call, in whatever order an
// error wraps several classes.
func TestClasses(t *testing.T) {
	for name, test := range map[string]struct {
		err              error
		nothingMade, all bool
	}{
		"no error":                 {nil, false, false},
		"rejected":                 {fmt.Errorf("no: %w", ErrRejected), true, false},
		"out of date":              {ErrStale, true, false},
		"credentials":              {fmt.Errorf("%w: %w", ErrCredentials, errors.New("403")), true, true},
		"throttled":                {&ThrottledError{}, true, true},
		"throttled, rejected":      {&ThrottledError{Err: ErrRejected}, true, true},
		"rejected and credentials": {errors.Join(ErrRejected, ErrCredentials), true, true},
		"unread":                   {Unread(ErrRejected), true, true},
		"dry run":                  {ErrDryRun, true, true},
		"not tried":                {ErrNotTried, false, false},
		"end of the context":       {context.DeadlineExceeded, false, false},
		"unknown":                  {errors.New("connection reset"), false, false},
	} {
		if got := NothingMade(test.err); got != test.nothingMade {
			t.Errorf("%s: NothingMade is %v", name, got)
		}
		if got := StopsAll(test.err); got != test.all {
			t.Errorf("%s: StopsAll is %v", name, got)
		}
	}
}

// After an error of MaybeMade the outcome is unknown. The error keeps its class, pause and text.
func TestMaybeMade(t *testing.T) {
	throttled := &ThrottledError{After: time.Minute}
	err := fmt.Errorf("call: %w", MaybeMade(fmt.Errorf("append: %w", throttled)))
	if NothingMade(err) || !NothingMade(throttled) {
		t.Error("MaybeMade doesn't make the outcome unknown")
	}
	said, ok := errors.AsType[*ThrottledError](err)
	if !ok || said.After != time.Minute || !errors.Is(err, ErrThrottled) || err.Error() != "call: append: "+throttled.Error() {
		t.Errorf("the error is %v", err)
	}
}

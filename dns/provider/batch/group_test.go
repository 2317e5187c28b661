package batch

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// One error that stops all changes is the error of Apply. All other errors are those of single changes.
func TestOutcome(t *testing.T) {
	throttled, rejected := fmt.Errorf("wait: %w", provider.ErrThrottled), fmt.Errorf("no: %w", provider.ErrRejected)
	for name, test := range map[string]struct {
		errs  []error
		whole error
	}{
		"throttled":       {[]error{throttled, throttled}, throttled},
		"cancelled":       {[]error{context.Canceled}, context.Canceled},
		"rejected":        {[]error{rejected, rejected}, nil},
		"one was made":    {[]error{nil, throttled}, nil},
		"another error":   {[]error{throttled, fmt.Errorf("again: %w", provider.ErrThrottled)}, nil},
		"the last failed": {[]error{nil, rejected}, nil},
	} {
		err := Outcome(test.errs)
		if each, ok := errors.AsType[*provider.ApplyError](err); test.whole != nil && err != test.whole || test.whole == nil && (!ok || len(each.Errs) != len(test.errs)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := Outcome(make([]error, 2)); err != nil {
		t.Errorf("nothing failed: %v", err)
	}
}

// A group has the changes of a name and of its ownership record, wherever they are in the call.
func TestBySubject(t *testing.T) {
	record := func(name string) dns.Change {
		return dns.Change{New: &dns.RecordSet{Name: name, Type: dns.TypeA}}
	}
	ownership := dns.Change{Old: &dns.RecordSet{Name: "a-www.shop.test", Type: dns.TypeTXT, Labels: map[string]string{dns.LabelOwnedRecord: "www.shop.test"}}}
	groups := BySubject([]dns.Change{record("www.shop.test"), record("api.shop.test"), ownership})
	if len(groups) != 2 || fmt.Sprint(groups[0].Places, groups[1].Places) != "[0 2] [1]" {
		t.Fatalf("%d groups: %+v", len(groups), groups)
	}
	failed := errors.New("failed")
	groups[0].Fail(failed)
	groups[0].Fail(errors.New("a later error"))
	if errs := Errors(groups, 3); errs[0] != failed || errs[1] != nil || errs[2] != failed {
		t.Errorf("errors %v", errs)
	}
	if rest := Pending(groups); len(rest) != 1 || rest[0] != groups[1] {
		t.Errorf("pending %v", rest)
	}
}

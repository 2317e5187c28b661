package batch

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// A refused record set takes its ownership records along, and nothing else unless a CNAME is replaced.
func TestSplit(t *testing.T) {
	set := func(recordType, id string) *dns.RecordSet {
		return &dns.RecordSet{Name: "www.shop.test", Type: recordType, SetIdentifier: id}
	}
	ownership := dns.Change{New: &dns.RecordSet{Name: "o-www.shop.test", Type: dns.TypeTXT, Labels: map[string]string{dns.LabelOwnedRecord: "www.shop.test"}}}
	a, aaaa, cname := dns.Change{New: set("A", "")}, dns.Change{New: set("AAAA", "")}, dns.Change{New: set("CNAME", "")}
	a2, cname2, oldA := dns.Change{Old: set("A", ""), New: set("A", "")}, dns.Change{New: set("CNAME", "2")}, dns.Change{Old: set("A", "")}
	for name, test := range map[string]struct {
		changes []dns.Change
		refused []int
		want    string
	}{
		"none":                                {[]dns.Change{ownership, a, aaaa}, nil, "[0 1 2] "},
		"the first":                           {[]dns.Change{ownership, a, ownership, aaaa}, []int{1}, "[2 3] [0 1]failed "},
		"an ownership record":                 {[]dns.Change{ownership, a, ownership, aaaa}, []int{2}, "[0 1] [2 3]failed "},
		"an update before a new one":          {[]dns.Change{a2, ownership, aaaa}, []int{2}, "[0] [1 2]failed "},
		"an update with an ownership record":  {[]dns.Change{a2, ownership, ownership}, []int{0}, "[0 1 2]failed "},
		"all":                                 {[]dns.Change{a, aaaa}, []int{0, 1}, "[0]failed [1]failed "},
		"a record that stays beside a CNAME":  {[]dns.Change{a2, ownership, cname, ownership}, []int{0}, "[0 1 2 3]failed "},
		"a CNAME in place of a record":        {[]dns.Change{oldA, ownership, cname, ownership}, []int{2}, "[0 1 2 3]failed "},
		"another CNAME in place of a record":  {[]dns.Change{oldA, cname, cname2}, []int{2}, "[0 1] [2]failed "},
		"one of two CNAMEs":                   {[]dns.Change{cname, cname2}, []int{1}, "[0] [1]failed "},
		"a new record that a CNAME is beside": {[]dns.Change{a, cname}, []int{0}, "[1] [0]failed "},
	} {
		i := -1
		parts := BySubject(test.changes)[0].Split(func(dns.Change) error {
			if i++; slices.Contains(test.refused, i) {
				return errors.New("failed")
			}
			return nil
		})
		got := ""
		for _, part := range parts {
			got += fmt.Sprint(part.Places)
			if part.Err != nil {
				got += part.Err.Error()
			}
			got += " "
		}
		if got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

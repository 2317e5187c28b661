package inmemorytest_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/inmemorytest"
)

const zoneName = "example.test"

var zone = dns.Zone{ID: zoneName, Name: zoneName}

func record(name, recordType string, targets ...string) *dns.RecordSet {
	return &dns.RecordSet{Name: name, Type: recordType, Targets: targets, TTL: 300}
}

func TestHooks(t *testing.T) {
	lost := errors.New("answer lost")
	changes := []dns.Change{
		{New: record("a.example.test", "A", "192.0.2.1")}, {New: record("b.example.test", "A", "192.0.2.1")}, {New: record("c.example.test", "A", "192.0.2.1")},
	}
	for _, test := range []struct {
		name  string
		hooks inmemorytest.Hooks
		made  []string
	}{
		{
			name:  "before",
			hooks: inmemorytest.Hooks{Before: func(context.Context, inmemorytest.Call) error { return lost }},
		},
		{
			name: "in the midst",
			hooks: inmemorytest.Hooks{Before: func(context.Context, inmemorytest.Call) error {
				return &inmemorytest.Interrupted{Made: 2, Err: lost}
			}},
			made: []string{"a.example.test", "b.example.test"},
		},
		{
			name:  "after",
			hooks: inmemorytest.Hooks{After: func(context.Context, inmemorytest.Call, error) error { return lost }},
			made:  []string{"a.example.test", "b.example.test", "c.example.test"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := inmemorytest.New(zoneName)
			p.SetHooks(test.hooks)
			if err := p.Apply(t.Context(), zone, changes); !errors.Is(err, lost) {
				t.Errorf("Apply: %v", err)
			}
			var made []string
			all, err := p.All(zoneName)
			for _, r := range all {
				made = append(made, r.Name)
			}
			if err != nil || !slices.Equal(made, test.made) {
				t.Errorf("made %v (%v), want %v", made, err, test.made)
			}
			if test.name != "in the midst" {
				if _, err := p.Records(t.Context(), zone); !errors.Is(err, lost) {
					t.Errorf("Records: %v", err)
				}
				if _, err := p.Zones(t.Context()); !errors.Is(err, lost) {
					t.Errorf("Zones: %v", err)
				}
			}
		})
	}
}

// A hook may change the zone, as another client could.
func TestHookUsesProvider(t *testing.T) {
	p := inmemorytest.New(zoneName)
	p.SetHooks(inmemorytest.Hooks{Before: func(context.Context, inmemorytest.Call) error {
		return p.Put(record("a.example.test", "A", "192.0.2.66"))
	}})
	err := p.Apply(t.Context(), zone, []dns.Change{{New: record("a.example.test", "A", "192.0.2.1")}})
	if !errors.Is(err, provider.ErrStale) {
		t.Errorf("got %v", err)
	}
}

package main

import (
	"slices"
	"testing"
)

func TestChosen(t *testing.T) {
	tests := []struct {
		only   string
		wanted bool
		halves []string
	}{
		{"", true, nil},
		{"dns", true, nil},
		{"stall", false, nil},
		{"dns:kill", true, []string{"kill"}},
		{"dns:kill,stall,dns:idle", true, []string{"kill", "idle"}},
		{"dns:kill,dns", true, nil},
	}
	for _, test := range tests {
		if wanted, halves := chosen("dns", test.only); wanted != test.wanted || !slices.Equal(halves, test.halves) {
			t.Errorf("chosen(dns, %q) = %t, %q, want %t, %q", test.only, wanted, halves, test.wanted, test.halves)
		}
	}
}

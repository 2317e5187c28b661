package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/signpostd/signpost/dns/plugins"
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/internal/golden"
)

// The lines around the rules for what sources read.
const (
	rightsBegin = "  # Between these two lines everything is generated: make generate\n"
	rightsEnd   = "  # end\n"
)

// TestRightsOfDNS compares the rules of the role with what the sources read; -update rewrites
// them. What a source writes is for a rule by hand.
func TestRightsOfDNS(t *testing.T) {
	const file = "../../deploy/rbac/dns.yaml"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begun := strings.Cut(string(text), rightsBegin)
	old, after, ended := strings.Cut(rest, rightsEnd)
	if !begun || !ended {
		t.Fatalf("%s has no generated part: it is between %q and %q", file, rightsBegin, rightsEnd)
	}
	want, err := describeRights(plugins.Sources())
	if err != nil {
		t.Fatal(err)
	}
	if golden.Update() {
		if err := os.WriteFile(file, []byte(before+rightsBegin+want+rightsEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, old); diff != "" {
		t.Errorf("%s is stale: run make generate (-sources +role):\n%s", file, diff)
	}
}

// describeRights returns a rule for each resource that one of the sources reads, in the order
// of the sources.
func describeRights(all []source.Plugin) (string, error) {
	settings, err := source.NewOptions().Settings()
	if err != nil {
		return "", err
	}
	var resources []schema.GroupResource
	readers := map[schema.GroupResource][]string{}
	for _, p := range all {
		s, err := p.New().Open(source.Input{Settings: settings, Changed: func(source.Key) {}})
		if err != nil {
			return "", fmt.Errorf("open source %s: %w", p.Name, err)
		}
		for _, table := range s.Tables {
			r := table.Resource().GroupResource()
			if readers[r] == nil {
				resources = append(resources, r)
			}
			if !slices.Contains(readers[r], p.Name) {
				readers[r] = append(readers[r], p.Name)
			}
		}
	}
	var b strings.Builder
	for _, r := range resources {
		group := r.Group
		if group == "" {
			group = `""`
		}
		fmt.Fprintf(&b, "  # %s\n  - apiGroups: [%s]\n    resources: [%s]\n    verbs: [list, watch]\n", strings.Join(readers[r], ", "), group, r.Resource)
	}
	return b.String(), nil
}

package kube

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/signpostd/signpost/api/linkerd"
	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/objectmeta"
)

// A ServiceProfile that can't be read any more leaves the last good one in place, and one
// that says the same again is no change.
func TestServiceProfileKeepsTheLastGoodOne(t *testing.T) {
	var handled []string
	table := ServiceProfiles().Table(WithHandler(func(_, p *catalog.ServiceProfile) { handled = append(handled, p.Routes[0].Name) }))
	var problems []objectmeta.Problem
	store := storeOf(t, binding{report: func(p objectmeta.Problem) { problems = append(problems, p) }}, table)
	for _, spec := range []string{
		`{routes: [{name: first, condition: {method: GET}}]}`,
		`{routes: [{name: first, condition: {method: GET}}]}`,
		`{routes: no list}`,
		`{routes: [{name: second}]}`,
	} {
		sp := new(linkerd.ServiceProfile)
		if err := yaml.Unmarshal([]byte("{metadata: {name: x, namespace: ns}, spec: "+spec+"}"), sp); err != nil {
			t.Fatal(err)
		}
		if err := store.Update(sp); err != nil {
			t.Fatal(err)
		}
		if table.Get("ns", "x") == nil {
			t.Errorf("after %s the table has no profile", spec)
		}
	}
	if diff := cmp.Diff([]string{"first", "second"}, handled); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if len(problems) != 1 || !strings.Contains(problems[0].Reason, "the last good version stays in use") || problems[0].Kind != "ServiceProfile" {
		t.Errorf("problems are %+v, want one that says what is used instead", problems)
	}
}

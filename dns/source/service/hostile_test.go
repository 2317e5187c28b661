package service

import (
	"fmt"
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/testkit/sourcetest"
)

// manyHostnames returns the quoted value of an annotation with the most names that a Service may have.
func manyHostnames() string {
	names := make([]string, source.NameLimit)
	for i := range names {
		names[i] = fmt.Sprintf("h%03d.example.org", i)
	}
	return `"` + strings.Join(names, ",") + `"`
}

// evaluated returns the result for the Service foo in a cluster with these objects.
func evaluated(t *testing.T, objects string) source.Result {
	t.Helper()
	return sourcetest.MustOpen(t, Plugin(), objects).Evaluate(source.Key{Namespace: "testing", Name: "foo"})
}

// TestManyPodsBelowManyNames shows that the names of pods below the names of a headless Service are limited,
// because their number is a product, and that the names themselves stay.
func TestManyPodsBelowManyNames(t *testing.T) {
	const pods = 100
	var objects strings.Builder
	objects.WriteString(strings.Replace(headlessOf("", ""), "foo.example.org", manyHostnames(), 1))
	endpoints := make([]string, pods)
	for i := range endpoints {
		name := fmt.Sprintf("foo-%d", i)
		objects.WriteString(member(name, "", ", hostname: "+name))
		endpoints[i] = at(fmt.Sprintf("10.1.0.%d", i), name)
	}
	objects.WriteString(sliceOf("s", "IPv4", endpoints...))
	result := evaluated(t, objects.String())
	below := 0
	for _, r := range result.Records {
		if strings.HasPrefix(r.Name, "foo-") {
			below++
		} else if len(r.Targets) != pods {
			t.Errorf("%s has %d targets, want those of all pods", r.Name, len(r.Targets))
		}
	}
	if names := len(result.Records) - below; names != source.NameLimit || below > podNamesLimit || below < podNamesLimit-pods {
		t.Errorf("%d names and %d names of pods below them, want %d and up to %d", names, below, source.NameLimit, podNamesLimit)
	}
	if len(result.Problems) != 1 || result.Problems[0].Subject != "names of pods below hostname" || !strings.HasPrefix(result.Problems[0].Reason, "512 items") {
		t.Errorf("problems %+v, want one about the names of pods", result.Problems)
	}
}

// TestManyNamesShareTargets shows that the record sets of many names at many nodes share their targets.
func TestManyNamesShareTargets(t *testing.T) {
	var objects strings.Builder
	objects.WriteString(strings.Replace(specified("P/hostname: foo.example.org", "type: NodePort"), "foo.example.org", manyHostnames(), 1))
	for i := range 100 {
		fmt.Fprintf(&objects, "\n---\napiVersion: v1\nkind: Node\nmetadata: {name: node%d}\nstatus: {addresses: [{type: ExternalIP, address: 192.0.2.%d}]}\n", i, i)
	}
	result := evaluated(t, objects.String())
	if len(result.Records) != source.NameLimit {
		t.Fatalf("got %d record sets, want %d", len(result.Records), source.NameLimit)
	}
	first := result.Records[0]
	for _, r := range result.Records {
		if r.Type != dns.TypeA || len(r.Targets) != 100 || &r.Targets[0] != &first.Targets[0] {
			t.Fatalf("%s %s has %d targets of its own, want the same 100 addresses", r.Name, r.Type, len(r.Targets))
		}
	}
}

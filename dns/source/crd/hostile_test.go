package crd_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/dns/source/crd"
	"github.com/signpostd/signpost/testkit/sourcetest"
)

// TestManyProperties shows that the properties of an endpoint are limited, and that the excess is a problem.
func TestManyProperties(t *testing.T) {
	t.Parallel()
	var object strings.Builder
	object.WriteString(`
apiVersion: externaldns.k8s.io/v1alpha1
kind: DNSEndpoint
metadata: {name: a}
spec:
  endpoints:
  - dnsName: a.example.org
    recordType: A
    targets: [192.0.2.1]
    providerSpecific:
`)
	for i := range 2000 {
		fmt.Fprintf(&object, "    - {name: webhook/%d, value: x}\n", i)
	}
	result := sourcetest.MustOpen(t, crd.Plugin(), object.String()).Evaluate(source.Key{Namespace: "default", Name: "a"})
	if len(result.Records) != 1 || len(result.Records[0].Properties) != source.PropertyLimit {
		t.Fatalf("got %d record sets, want one with %d properties", len(result.Records), source.PropertyLimit)
	}
	if len(result.Problems) != 1 || result.Problems[0].Subject != "spec.endpoints[0].providerSpecific" || !strings.HasPrefix(result.Problems[0].Reason, "2000 items") {
		t.Errorf("problems %+v, want one about the number of properties", result.Problems)
	}
}

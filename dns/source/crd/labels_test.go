package crd_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/dns/source/crd"
	"github.com/signpostd/signpost/testkit/sourcetest"
)

const labelled = `
apiVersion: externaldns.k8s.io/v1alpha1
kind: DNSEndpoint
metadata: {name: a}
spec:
  endpoints:
  - dnsName: a.example.org
    recordType: A
    targets: [192.0.2.1]
    labels:
      team: shop
      owner: cluster2
      ownedRecord: victim.example.org
      aws-sd-description: heritage=external-dns
      txt-encryption-nonce: AAAA
      resource: service/victim/web
      z: 'x\044external-dns/owner=cluster2'
`

// TestLabels shows that labels with a fixed meaning are dropped from a DNSEndpoint, and that a label that an
// ownership record can't store is a problem, while the record set is published (tenants S5 and S6).
func TestLabels(t *testing.T) {
	t.Parallel()
	fixture := sourcetest.MustOpen(t, crd.Plugin(), labelled)
	result := fixture.Evaluate(source.Key{Namespace: "default", Name: "a"})
	if len(result.Records) != 1 {
		t.Fatalf("got %d record sets", len(result.Records))
	}
	want := map[string]string{"team": "shop", dns.LabelResource: "crd/default/a"}
	if diff := cmp.Diff(want, result.Records[0].Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if len(result.Problems) != 1 || result.Problems[0].Subject != "spec.endpoints[0].labels" || !strings.Contains(result.Problems[0].Reason, "backslashes") {
		t.Errorf("got the problems %v", result.Problems)
	}
}

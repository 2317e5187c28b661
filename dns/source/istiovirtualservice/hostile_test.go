package istiovirtualservice_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/dns/source/istiovirtualservice"
	"github.com/signpostd/signpost/testkit/sourcetest"
)

// list returns items with commas between them.
func list(n int, item string) string {
	items := make([]string, n)
	for i := range items {
		items[i] = fmt.Sprintf(item, i)
	}
	return strings.Join(items, ", ")
}

var shop = source.Key{Kind: "VirtualService.networking.istio.io", Namespace: "default", Name: "shop"}

// TestHostile shows that limits bound the cost of a VirtualService with thousands of hosts and Gateways, on
// Gateways with thousands of hosts and addresses, and that the excess is reported.
func TestHostile(t *testing.T) {
	var objects strings.Builder
	for i := range 70 {
		objects.WriteString(gateway(fmt.Sprint("edge-", i), `selector: {istio: edge}, servers: [{hosts: ["*", `+list(200, `"*.%d.example.org"`)+`]}]`))
	}
	objects.WriteString(gateway("large", `selector: {istio: edge}, servers: [{hosts: [`+list(5000, `%d.example.org`)+`]}]`))
	for i := range 300 {
		objects.WriteString(service(fmt.Sprint("s-", i), "istio: edge", fmt.Sprintf("192.0.%d.%d", i/200, 1+i%200)))
	}
	fixture := sourcetest.MustOpen(t, istiovirtualservice.Plugin(), objects.String())
	labels := strings.Repeat("a.", 110)
	fixture.Apply(virtualService("shop", "hosts: ["+list(600, labels+"%d.example.org")+"], gateways: ["+list(600, "edge-%d")+"], exportTo: ["+list(600, "x-%d")+", default]"))
	if got := fixture.Evaluate(shop); len(got.Records) != 0 || len(got.Skipped) != 9 || len(got.Problems) != 3 {
		t.Errorf("with default as the 601st of exportTo: %d records, %d problems, skipped %+v", len(got.Records), len(got.Problems), got.Skipped)
	}
	fixture.Apply(virtualService("shop", "hosts: ["+list(600, labels+"%d.example.org")+", "+strings.Repeat("a", 300)+".example.org], gateways: ["+list(600, "edge-%d")+"]"))
	start := time.Now()
	got := fixture.Evaluate(shop)
	if took := time.Since(start); took > time.Minute { // mostly the comparison of both, under the race detector
		t.Errorf("two evaluations took %s", took)
	}
	if len(got.Records) != 512 || len(got.Records[0].Targets) != 256 {
		t.Errorf("%d records", len(got.Records))
	}
	want := []string{
		"spec.hosts: 601 items: the first 512 are used; shorten the list", "spec.gateways: 600 items: the first 64 are used; shorten the list",
		"targets: 300 items: the first 256 are used; shorten the list",
	}
	for i, p := range got.Problems {
		if text := p.Subject + ": " + p.Reason; i >= len(want) || text != want[i] {
			t.Errorf("problem %d is %q, want one of %q", i, text, want)
		}
	}
	fixture.Apply(virtualService("shop", "hosts: ["+strings.Repeat("a", 300)+".example.org, 4999.example.org], gateways: [large, "+strings.Repeat("g", 600)+"]"))
	got = fixture.Evaluate(shop)
	if len(got.Records) != 0 || len(got.Problems) != 2 || len(got.Problems[0].Value) > 80 || len(got.Problems[1].Value) > 80 {
		t.Errorf("with long names: %+v", got)
	}
}

// TestWhyNot shows that each VirtualService without records has a reason.
func TestWhyNot(t *testing.T) {
	objects := gateway("edge", `selector: {istio: edge}, servers: [{hosts: ["*.example.org"]}]`) +
		object("Gateway", "name: edge, namespace: other", `servers: [{hosts: ["*"]}]`)
	tests := []struct {
		name, metadata, spec string
		reason               source.SkipReason
		subject              string
	}{
		{"other namespace", "namespace: hidden", "hosts: [x.example.org], gateways: [edge]", source.SkipFiltered, "metadata.namespace"},
		{"other controller", "annotations: {external-dns.kubernetes.io/controller: other}", "hosts: [x.example.org]", source.SkipOtherController, "metadata.annotations"},
		{"no names", "", `hosts: ["*"], gateways: [edge]`, source.SkipNoHostname, "spec.hosts"},
		{"mesh only", "", "hosts: [x.example.org], gateways: [mesh]", source.SkipNotPublished, "x.example.org"},
		{"missing Gateway", "", "hosts: [x.example.org], gateways: [missing]", source.SkipNotFound, "x.example.org"},
		{"other host", "", "hosts: [x.example.net], gateways: [edge]", source.SkipNotAccepted, "x.example.net"},
		{"not exported", "", "hosts: [x.example.org], gateways: [edge], exportTo: [other]", source.SkipNotAccepted, "x.example.org"},
		{"no address", "", "hosts: [x.example.org], gateways: [edge]", source.SkipNoTarget, "x.example.org"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			key := shop
			if strings.Contains(test.metadata, "hidden") {
				key.Namespace = "hidden"
			}
			fixture := sourcetest.MustOpen(t, istiovirtualservice.Plugin(), objects+object("VirtualService", strings.Trim("name: shop, "+test.metadata, ", "), test.spec), "--namespace=default,other")
			got := fixture.Evaluate(key)
			if len(got.Records) != 0 || got.Err != nil || len(got.Skipped) != 1 || got.Skipped[0].Reason != test.reason || got.Skipped[0].Subject != test.subject {
				t.Errorf("%+v, want one skip %s of %s", got, test.reason, test.subject)
			}
		})
	}
}

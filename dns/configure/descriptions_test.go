package configure_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/configure"
	"github.com/signpostd/signpost/dns/provider/inmemory"
	"github.com/signpostd/signpost/dns/publisher"
	"github.com/signpostd/signpost/kube"
)

// The provider for Cloud Map keeps ownership in descriptions, whatever --registry says. With noop,
// the descriptions have no owner (spec/dns.md §4.4).
func TestDescriptions(t *testing.T) {
	const owned = "heritage=external-dns,external-dns/owner=me"
	for registry, want := range map[string]struct{ kind, text string }{
		"txt": {"aws-sd", owned}, "dynamodb": {"aws-sd", owned}, "crd": {"aws-sd", owned}, "aws-sd": {"aws-sd", owned}, "noop": {"noop", "heritage=external-dns"},
	} {
		t.Run(registry, func(t *testing.T) {
			o, _ := given(t, "--source=fake", "--provider=aws-sd", "--policy=sync", "--domain-filter=example.org", "--managed-record-types=A", "--fqdn-template=shop.example.org",
				"--txt-owner-id=me", "--registry="+registry)
			if err := o.Validate(); err != nil || o.RegistryKind() != want.kind {
				t.Fatalf("the registry is %s, %v", o.RegistryKind(), err)
			}
			zones := inmemory.New("example.org")
			bare := &dns.RecordSet{Name: "bare.example.org", Type: "A", Targets: []string{"203.0.113.1"}, TTL: 60}
			if err := zones.Put(bare); err != nil {
				t.Fatal(err)
			}
			opened, err := o.Open(t.Context(), configure.Input{Log: slog.New(slog.DiscardHandler), Provider: zones})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := opened.Once(t.Context(), kube.Options{}, publisher.Within(time.Minute)); err != nil {
				t.Fatal(err)
			}
			listed, err := zones.Records(t.Context(), dns.Zone{ID: "example.org", Name: "example.org"})
			if err != nil || len(listed) != 2 {
				t.Fatalf("records %v, %v", listed, err)
			}
			for _, r := range listed {
				text := r.Labels[dns.LabelDescription]
				switch {
				case r.Name == bare.Name && text != "":
					t.Errorf("somebody else's record has the description %q", text)
				case r.Name != bare.Name && (!strings.HasPrefix(text, want.text) || registry == "noop" && strings.Contains(text, "owner=")):
					t.Errorf("%s has the description %q", r.Name, text)
				}
			}
		})
	}
}

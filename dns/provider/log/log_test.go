package log

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/providertest"
)

func TestConformance(t *testing.T) {
	providertest.Run(t, providertest.Options{
		Open: func(_ *testing.T, in provider.Input) providertest.Fixture {
			p := New(io.Discard)
			p.dryRun = in.DryRun
			return providertest.Fixture{Provider: p, Zone: "example.test", Reverse: "2.0.192.in-addr.arpa"}
		},
		Types: []string{
			dns.TypeA, dns.TypeAAAA, dns.TypeCNAME, dns.TypeTXT, dns.TypeSRV, dns.TypeMX, dns.TypeNS, dns.TypePTR, dns.TypeNAPTR, dns.TypeDNAME,
		},
		Properties: []string{"log/x"},
		Rejects:    func(string) []*dns.RecordSet { return nil },
	})
}

func TestLines(t *testing.T) {
	var out bytes.Buffer
	p := New(&out)
	one := &dns.RecordSet{Name: "WWW.example.org.", Type: "A", Targets: []string{"192.0.2.1", "192.0.2.2"}, TTL: 300}
	two := &dns.RecordSet{Name: "www.example.org", Type: "A", Targets: []string{"192.0.2.1"}, SetIdentifier: "blue green"}
	one.SetIdentifier = two.SetIdentifier
	text := &dns.RecordSet{Name: "a b.example.org", Type: "TXT", Targets: []string{`"a \"b\"` + "\n\x1b" + `"`}, TTL: -1}
	for _, c := range []dns.Change{{New: one}, {Old: one, New: two}, {Old: two}, {New: text}} {
		if err := p.Apply(t.Context(), dns.Zone{}, []dns.Change{c}); err != nil {
			t.Fatal(err)
		}
	}
	want := `create www.example.org 300 A 192.0.2.1 192.0.2.2 [blue\x20green]
update www.example.org 300 A 192.0.2.1 192.0.2.2 [blue\x20green] => 0 A 192.0.2.1 [blue\x20green]
delete www.example.org 0 A 192.0.2.1 [blue\x20green]
create a\x20b.example.org 0 TXT "a \\"b\\"\n\x1b"
`
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

// A change that could not be printed counts as not made.
func TestWriteFails(t *testing.T) {
	p := New(full{})
	err := p.Apply(t.Context(), dns.Zone{}, []dns.Change{{New: &dns.RecordSet{Name: "www.example.org", Type: "A"}}})
	list, listErr := p.Records(t.Context(), dns.Zone{})
	if err == nil || listErr != nil || len(list) != 0 {
		t.Errorf("Apply: %v; Records: %v, %v", err, list, listErr)
	}
}

func TestPlugin(t *testing.T) {
	p, err := Plugin().New().Open(t.Context(), provider.Input{DryRun: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Apply(t.Context(), dns.Zone{}, []dns.Change{{New: &dns.RecordSet{Name: "www"}}}); !errors.Is(err, provider.ErrDryRun) {
		t.Errorf("got %v", err)
	}
}

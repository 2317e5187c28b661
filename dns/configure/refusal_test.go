package configure_test

import (
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/configure"
	"github.com/signpostd/signpost/dns/provider/inmemory"
	"github.com/signpostd/signpost/dns/publisher"
	"github.com/signpostd/signpost/kube"
)

// A record set that the registry can't own is refused with a problem of its object: a target that
// is an ownership text (W8), and a name whose ownership record would have a label of more than 63
// bytes (D13).
func TestRefusals(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 61) // The source fake has an NS record under it, and ns- is too long then.
	for _, test := range []struct {
		name, managed, base string
		flags               []string
		want                string
		records             int
	}{
		{
			name: "W8", managed: "TXT", base: "shop.example.org",
			want: `is ""heritage=external-dns,external-dns/owner=fake"": an ownership record, which only Signpost itself may write: change the text`,
		},
		{
			name: "D13", managed: "NS", base: long + ".example.org",
			want: `is "` + long + `.example.org": the name of its ownership record would be too long, with a label of more than 63 bytes or more than 253 in all: use a shorter name, or a shorter --txt-prefix or --txt-suffix`,
		},
		{name: "D13: nobody owns records", managed: "NS", base: long + ".example.org", flags: []string{"--registry=noop"}, records: 1},
		{name: "a name that isn't ours", managed: "NS", base: long + ".example.org", flags: []string{"--exclude-domains=example.org"}},
		{name: "a type that isn't managed", managed: "A", base: long + ".example.org", records: 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			o, _ := given(t, append([]string{
				"--source=fake", "--provider=inmemory", "--domain-filter=example.org", "--policy=sync", "--managed-record-types=" + test.managed, "--fqdn-template=" + test.base,
			}, test.flags...)...)
			zones := inmemory.New("example.org")
			var mu sync.Mutex
			var said []string
			opened, err := o.Open(t.Context(), configure.Input{
				Log: slog.New(slog.DiscardHandler), Provider: zones,
				Notify: func(n publisher.Notice) {
					mu.Lock()
					defer mu.Unlock()
					if n.Action == publisher.ActionFailed {
						said = append(said, n.Reason+" "+n.Message)
					}
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := opened.Once(t.Context(), kube.Options{}, publisher.Within(time.Minute)); err != nil {
				t.Errorf("the run fails: %v", err)
			}
			if (len(said) > 0) != (test.want != "") {
				t.Errorf("notices: %q", said)
			}
			for _, notice := range said {
				if !strings.HasPrefix(notice, publisher.ReasonInvalid) || !strings.Contains(notice, test.want) {
					t.Errorf("notice %s, want one that says %s", notice, test.want)
				}
			}
			listed, err := zones.Records(t.Context(), dns.Zone{ID: "example.org", Name: "example.org"})
			if err != nil {
				t.Fatal(err)
			}
			records := 0
			for _, r := range listed {
				if r.Type == test.managed {
					records++
				}
			}
			if records != test.records {
				t.Errorf("%d records are published, want %d: %+v", records, test.records, listed)
			}
		})
	}
}

package configure_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/configure"
	"github.com/signpostd/signpost/dns/desired"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/inmemory"
	"github.com/signpostd/signpost/dns/publisher"
	"github.com/signpostd/signpost/dns/source"
)

// given returns options with the given flags.
func given(t *testing.T, args ...string) (*configure.Options, *pflag.FlagSet) {
	t.Helper()
	o := configure.New()
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	o.Flags(flags)
	if err := flags.Parse(configure.Negations(flags, args)); err != nil {
		t.Fatal(err)
	}
	return o, flags
}

func TestEnvironment(t *testing.T) {
	tests := map[string]struct {
		args []string
		env  map[string]string
		// check returns an error of FromEnvironment, or the difference between its result and the
		// expected one.
		want string
		err  string
	}{
		"repeated":          {env: map[string]string{"SOURCE": "service\ningress\r\n\nnode\n"}, want: "[service ingress node] [] interval=1m0s events=false"},
		"namespace lines":   {env: map[string]string{"NAMESPACE": "shop\npay\n"}, want: "[] [] interval=1m0s events=false namespaces=[shop pay]"},
		"namespace commas":  {env: map[string]string{"NAMESPACE": "shop,pay\nteam-1"}, want: "[] [] interval=1m0s events=false namespaces=[shop pay team-1]"},
		"namespace flag":    {args: []string{"--namespace=shop"}, env: map[string]string{"NAMESPACE": "pay"}, want: "[] [] interval=1m0s events=false namespaces=[shop]"},
		"flag wins":         {args: []string{"--source=pod"}, env: map[string]string{"SOURCE": "service"}, want: "[pod] [] interval=1m0s events=false"},
		"replaces defaults": {env: map[string]string{"MANAGED_RECORD_TYPES": "TXT"}, want: "[] [] interval=1m0s events=false types=[TXT]"},
		"switch 1":          {env: map[string]string{"EVENTS": "1"}, want: "[] [] interval=1m0s events=true"},
		"switch true":       {env: map[string]string{"EVENTS": "true"}, want: "[] [] interval=1m0s events=true"},
		"switch false":      {env: map[string]string{"EVENTS": "false"}, want: "[] [] interval=1m0s events=false"},
		"off wins":          {args: []string{"--no-events"}, env: map[string]string{"EVENTS": "1"}, want: "[] [] interval=1m0s events=false"},
		"duration":          {env: map[string]string{"INTERVAL": "5m"}, want: "[] [] interval=5m0s events=false"},
		"flag of a plugin":  {env: map[string]string{"PROVIDER": "inmemory", "INMEMORY_ZONE": "a.test\nb.test"}, want: "[] [inmemory] interval=1m0s events=false"},
		"empty is nothing":  {env: map[string]string{"INTERVAL": "", "SOURCE": "", "EVENTS": ""}, want: "[] [] interval=1m0s events=false"},
		"all that is wrong": {
			env: map[string]string{"INTERVAL": "soon", "EVENTS": "maybe", "GODADDY_API_KEY": "hidden", "OCI_CONFIG_FILE": "f"},
			err: "EXTERNAL_DNS_EVENTS: must be true or false\n" +
				"EXTERNAL_DNS_INTERVAL: must be a duration with its unit, such as 10s or 1m30s",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o, flags := given(t, tt.args...)
			_, err := configure.FromEnvironment(flags, func(name string) (string, bool) {
				short, ok := strings.CutPrefix(name, "EXTERNAL_DNS_")
				value, set := tt.env[short]
				return value, ok && set
			})
			if err != nil {
				if err.Error() != tt.err {
					t.Errorf("error\n%v\nwant\n%s", err, tt.err)
				}
				return
			}
			got := strings.Join([]string{show(o.Sources), show(o.Providers), "interval=" + o.Interval.String(), "events=" + flags.Lookup("events").Value.String()}, " ")
			if flags.Changed("managed-record-types") {
				got += " types=" + show(o.ManagedTypes)
			}
			if flags.Changed("namespace") {
				got += " namespaces=" + show(o.Source.OnlyNamespaces())
			}
			if got != tt.want || tt.err != "" {
				t.Errorf("got %s, want %s%s", got, tt.want, tt.err)
			}
		})
	}
}

func show(list []string) string { return "[" + strings.Join(list, " ") + "]" }

// Each flag has its variable, and the variables of two flags are never the same.
func TestEveryFlagHasAVariable(t *testing.T) {
	_, flags := given(t)
	asked := map[string]int{}
	if _, err := configure.FromEnvironment(flags, func(name string) (string, bool) {
		asked[name]++
		return "", false
	}); err != nil {
		t.Fatal(err)
	}
	count := 0
	flags.VisitAll(func(*pflag.Flag) { count++ })
	if len(asked) != count || asked["EXTERNAL_DNS_TXT_OWNER_ID"] != 1 {
		t.Errorf("%d variables of %d flags", len(asked), count)
	}
}

// A switch can be turned off by --no-flag and by --flag=false.
func TestNegations(t *testing.T) {
	_, flags := given(t)
	switches := 0
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Value.Type() != "bool" {
			return
		}
		switches++
		o, set := given(t, "--"+f.Name, "--no-"+f.Name)
		if got := set.Lookup(f.Name).Value.String(); got != "false" || o == nil {
			t.Errorf("--no-%s: %s", f.Name, got)
		}
	})
	if switches < 20 {
		t.Errorf("only %d switches", switches)
	}
}

// valid are valid flags.
var valid = []string{"--source=service", "--provider=inmemory", "--policy=sync"}

// TestValidate checks the rules of spec/dns.md §5.4.
func TestValidate(t *testing.T) {
	rfc2136 := []string{"--provider=rfc2136", "--rfc2136-host=192.0.2.1", "--rfc2136-zone=example.org"}
	tests := map[string]struct {
		args []string
		// without is the flag of valid that is left out.
		without string
		err     []string // parts of the error; none is that all is well
	}{
		"all is well":            {},
		"no source":              {without: "--source=service", err: []string{"--source: none given"}},
		"no provider":            {without: "--provider=inmemory", err: []string{"--provider: none given"}},
		"no policy":              {without: "--policy=sync", err: []string{"--policy: none given"}},
		"several are wrong":      {args: []string{"--source=nonesuch", "--provider=oci", "--interval=0s"}, err: []string{"--source=nonesuch: unknown", "--provider=oci: not built in: run a webhook program for oci", "--interval=0s"}},
		"sources with a comma":   {args: []string{"--source=service,ingress"}, err: []string{"--source=service,ingress: contains a comma: repeat the flag, once for each value"}},
		"no hash":                {args: []string{"--approve-plan=x"}, err: []string{"--approve-plan=x: no hash of a plan: it has 16 digits or letters from a to f"}},
		"unknown name policy":    {args: []string{"--name-policy=namespac"}, err: []string{"--name-policy=namespac: unknown: did you mean namespace?"}},
		"unknown policy":         {args: []string{"--policy=none"}, err: []string{"--policy=none: unknown: use one of sync, upsert-only, create-only"}},
		"misspelled policy":      {args: []string{"--policy=snyc"}, err: []string{"--policy=snyc: unknown: did you mean sync?"}},
		"minimal TTL":            {args: append(slices.Clone(rfc2136), "--rfc2136-insecure", "--rfc2136-min-ttl=-1s"), err: []string{"--rfc2136-min-ttl"}},
		"insecure and GSS":       {args: append(slices.Clone(rfc2136), "--rfc2136-insecure", "--rfc2136-gss-tsig"), err: []string{"rfc2136-gss-tsig"}},
		"GSS without a realm":    {args: append(slices.Clone(rfc2136), "--rfc2136-gss-tsig", "--rfc2136-kerberos-username=u"), err: []string{"rfc2136-kerberos"}},
		"batch of nothing":       {args: append(slices.Clone(rfc2136), "--rfc2136-insecure", "--rfc2136-batch-change-size=0"), err: []string{"--rfc2136-batch-change-size"}},
		"ignored annotations":    {args: []string{"--ignore-hostname-annotation"}, err: []string{"--ignore-hostname-annotation"}},
		"with a template":        {args: []string{"--ignore-hostname-annotation", "--fqdn-template={{.Name}}.example.org"}},
		"prefix and suffix":      {args: []string{"--txt-prefix=a", "--txt-suffix=b"}, err: []string{"prefix", "suffix"}},
		"bad label filter":       {args: []string{"--label-filter=a=b=c"}, err: []string{"--label-filter"}},
		"bad annotation filter":  {args: []string{"--annotation-filter=,,"}, err: []string{"--annotation-filter"}},
		"empty prefix":           {args: []string{"--annotation-prefix="}, err: []string{"--annotation-prefix"}},
		"prefix without a slash": {args: []string{"--annotation-prefix=example.org"}, err: []string{"--annotation-prefix"}},
		"PTR isn't managed":      {args: []string{"--create-ptr"}, err: []string{"--create-ptr", "--managed-record-types=PTR"}},
		"PTR is managed":         {args: []string{"--create-ptr", "--managed-record-types=PTR"}},
		"PTR is excluded":        {args: []string{"--create-ptr", "--managed-record-types=PTR", "--exclude-record-types=PTR"}, err: []string{"--create-ptr"}},
		"short key":              {args: []string{"--txt-encrypt-enabled", "--txt-encrypt-aes-key=short-and-hidden"}, err: []string{"32"}},
		"no key":                 {args: []string{"--txt-encrypt-enabled"}, err: []string{"key"}},
		"no owner":               {args: []string{"--txt-owner-id="}, err: []string{"--txt-owner-id"}},
		"no owner, noop":         {args: []string{"--txt-owner-id=", "--registry=noop"}},
		"registry elsewhere":     {args: []string{"--registry=aws-sd"}, err: []string{"--registry=aws-sd: the provider inmemory has no descriptions"}},
		"registry of Cloud Map":  {args: []string{"--provider=aws-sd", "--registry=dynamodb", "--txt-owner-id=" + strings.Repeat("x", 1024)}, err: []string{"--txt-owner-id: too long"}},
		"beside Cloud Map":       {args: []string{"--provider=aws-sd", "--provider=inmemory"}, err: []string{"--provider=aws-sd: it keeps ownership in its own way"}},
		"unknown registry":       {args: []string{"--registry=nonesuch"}, err: []string{"--registry=nonesuch: unknown"}},
		"unknown type":           {args: []string{"--managed-record-types=CAA"}, err: []string{"--managed-record-types=CAA: unknown: use one of A, AAAA"}},
		"bad pattern":            {args: []string{"--regex-domain-filter=("}, err: []string{"--regex-domain-filter=(: no regular expression (RE2): missing closing ): ("}},
		"two bad patterns":       {args: []string{"--regex-domain-filter=(", "--regex-domain-exclusion=["}, err: []string{"--regex-domain-filter=(: ", "--regex-domain-exclusion=[: "}},
		"more than all":          {args: []string{"--max-deletions-percent=101"}, err: []string{"--max-deletions-percent=101: must be from 0 to 100"}},
		"less than nothing":      {args: []string{"--max-updates=-1", "--batch-change-size=-2", "--deletion-delay=-1s"}, err: []string{"--max-updates=-1: must not be negative", "--batch-change-size=-2: must not be negative", "--deletion-delay=-1s: must not be negative"}},
		"unknown reason":         {args: []string{"--events-emit=RecordRaedy"}, err: []string{"--events-emit=RecordRaedy: unknown: did you mean RecordReady?"}},
		"all reasons":            {args: []string{"--events-emit=RecordReady", "--events-emit=RecordDeleted", "--events-emit=RecordError"}},
		"several namespaces":     {args: []string{"--namespace=shop,pay", "--namespace=team-1"}},
		"namespaces, not labels": {args: []string{"--namespace=shop,team.a", "--namespace=-b"}, err: []string{`--namespace "team.a"`, `--namespace "-b"`, "lower-case letters"}},
		"not expanded":           {args: []string{"--domain-filter=$(ZONE)"}, err: []string{"--domain-filter: contains $(ZONE), a variable that was not expanded"}},
		"owner not expanded":     {args: []string{"--txt-owner-id=prod-$(CLUSTER)"}, err: []string{"--txt-owner-id: contains $(CLUSTER)"}},
		"a secret not expanded":  {args: []string{"--pdns-api-key=$(PDNS_KEY)"}, err: []string{"--pdns-api-key: contains $(PDNS_KEY)"}},
		"a secret like one":      {args: []string{"--pdns-api-key=a$(b)hidden"}},
		"a pattern with an end":  {args: []string{`--regex-domain-filter=(^|\.)example\.org$`}},
		"template of an affix":   {args: []string{"--txt-prefix=%{record_type}-k8s."}},
		"misspelled affix":       {args: []string{"--txt-prefix=%{record-type}-"}, err: []string{"--txt-prefix=%{record-type}-: the character '%' is allowed only in the template %{record_type}"}},
		"half an affix":          {args: []string{"--txt-suffix=-%{record_type"}, err: []string{"--txt-suffix"}},
		"legacy prefix":          {args: []string{"--enable-legacy-annotation-prefix", "--annotation-prefix=custom.example.org/"}},
		"crd in no namespace":    {args: []string{"--registry=crd", "--crd-registry-namespace=Team/A"}, err: []string{`--crd-registry-namespace "Team/A": no namespace has such a name; use lower-case letters`}},
		"a namespace for none":   {args: []string{"--crd-registry-namespace=Team/A"}},
		"crd without a cluster":  {args: []string{"--registry=crd"}, err: []string{"--registry=crd: there is no cluster"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			args := slices.DeleteFunc(slices.Clone(valid), func(flag string) bool {
				return flag == tt.without || slices.ContainsFunc(tt.args, func(given string) bool {
					return strings.HasPrefix(given, strings.SplitAfter(flag, "=")[0])
				})
			})
			o, _ := given(t, append(args, tt.args...)...)
			err := o.Validate()
			if err == nil {
				_, err = o.Open(t.Context(), configure.Input{Log: slog.New(slog.DiscardHandler)})
			}
			if (err == nil) != (len(tt.err) == 0) {
				t.Fatalf("error %v, want %v", err, tt.err)
			}
			for _, part := range tt.err {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q lacks %q", err, part)
				}
			}
			if err != nil && strings.Contains(err.Error(), "hidden") {
				t.Errorf("error %q shows a secret", err)
			}
		})
	}
}

// Flags of providers that are not built in are accepted, as ExternalDNS accepts flags of providers that
// aren't used (dns F21), and their values are never shown.
func TestFlagsOfMissingProviders(t *testing.T) {
	o, flags := given(t, append([]string{"--oci-zone-scope=x", "--ovh-enable-cname-relative", "--no-oci-auth-instance-principal", "--godaddy-api-ttl=5", "--pihole-password=hidden"}, valid...)...)
	if err := o.Validate(); err != nil {
		t.Error(err)
	}
	if shown := fmt.Sprint(configure.LogAttrs(flags)); strings.Contains(shown, "hidden") {
		t.Errorf("a secret is shown: %s", shown)
	}
	for _, name := range []string{"alibabacloud", "civo", "gandi", "oci", "pihole", "scaleway"} {
		o, _ := given(t, "--source=service", "--provider="+name, "--policy=sync")
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), "webhook program for "+name) {
			t.Errorf("--provider=%s: %v", name, err)
		}
	}
}

// A provider that ExternalDNS has removed is no misspelled one.
func TestFormerProviders(t *testing.T) {
	for _, name := range []string{"vinyldns", "ultradns", "rdns", "digitalocean", "tencentcloud"} {
		o, _ := given(t, "--source=service", "--provider="+name, "--policy=sync")
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), "webhook program for "+name) || strings.Contains(err.Error(), "did you mean") {
			t.Errorf("--provider=%s: %v", name, err)
		}
	}
}

// The error for a flag of an older ExternalDNS says that it was removed (dns F21).
func TestFormerFlags(t *testing.T) {
	for name, want := range map[string]string{
		"txt-new-format-only": "leave the flag out", "no-txt-new-format-only": "leave the flag out", "rfc2136-create-ptr": "--create-ptr",
		"akamai-client-token": "the provider akamai", "infoblox-grid-host": "the provider infoblox", "cf-api-endpoint": "cloudfoundry", "pihole-api-version": "webhook program",
	} {
		if got := configure.FormerFlag(name); !strings.Contains(got, want) || !strings.HasPrefix(got, "removed from ExternalDNS") {
			t.Errorf("--%s: %q lacks %q", name, got, want)
		}
	}
	_, flags := given(t)
	flags.VisitAll(func(f *pflag.Flag) {
		if hint := configure.FormerFlag(f.Name); hint != "" {
			t.Errorf("--%s is a flag, and %q", f.Name, hint)
		}
	})
	if hint := configure.FormerFlag("polcy"); hint != "" {
		t.Errorf("--polcy: %q", hint)
	}
}

// A remark is made for values that ExternalDNS accepts and that match nothing (dns F17).
func TestRemarks(t *testing.T) {
	o, _ := given(t, append([]string{"--domain-filter=a.org,b.org", "--domain-filter=*.demo.org", "--domain-filter=c.org", "--domain-filter=.d.org.", "--domain-filter=e..org", "--zone-name-filter=f org", "--default-targets=192.0.2.1,192.0.2.2", "--exclude-domains=x.org", "--exclude-target-net=10.0.0.0/33", "--exclude-target-net=10.0.0.0/8", "--interval=10ms"}, valid...)...)
	if err := o.Validate(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range o.Remarks() {
		got = append(got, fmt.Sprintf("--%s=%s: %s; %s", r.Flag, r.Value, r.Reason, r.Instead))
	}
	want := []string{
		"--domain-filter=a.org,b.org: contains a comma: repeat the flag, once for each value; no name is in this domain",
		"--domain-filter=*.demo.org: begins with an asterisk: a domain includes all names below it, so leave out the asterisk; no name is in this domain",
		"--domain-filter=e..org: no domain name: write one, such as example.org; no name is in this domain",
		"--zone-name-filter=f org: no domain name: write one, such as example.org; no zone is in this domain",
		"--default-targets=192.0.2.1,192.0.2.2: contains a comma: repeat the flag, once for each value; records with this target are refused",
		`--exclude-target-net=10.0.0.0/33: not a network: netip.ParsePrefix("10.0.0.0/33"): prefix length out of range: write a network such as 10.0.0.0/8, or an address; the network is ignored`,
		"--interval=10ms: must be at least 1s: changes of objects are published at once anyway; 1s is used",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	opened, err := o.Open(t.Context(), configure.Input{Provider: inmemory.New("example.org"), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if got := opened.Publisher.Interval; got != time.Second {
		t.Errorf("the interval is %v, want 1s", got)
	}
}

// The flag of ExternalDNS v0.23 adds the old prefix to the given ones (dns F4).
func TestLegacyPrefix(t *testing.T) {
	for _, test := range []struct{ args, want []string }{
		{[]string{"--enable-legacy-annotation-prefix"}, []string{"external-dns.kubernetes.io/", "external-dns.alpha.kubernetes.io/"}},
		{[]string{"--annotation-prefix=custom.example.org/"}, []string{"custom.example.org/"}},
		{[]string{"--annotation-prefix=custom.example.org/", "--enable-legacy-annotation-prefix"}, []string{"custom.example.org/", "external-dns.alpha.kubernetes.io/"}},
	} {
		o, _ := given(t, test.args...)
		if settings, err := o.Source.Settings(); err != nil || !slices.Equal(settings.Prefixes, test.want) {
			t.Errorf("%v: prefixes %v, %v; want %v", test.args, settings.Prefixes, err, test.want)
		}
	}
}

func TestLogAttrsHideSecrets(t *testing.T) {
	_, flags := given(t, "--source=service", "--txt-encrypt-aes-key=hidden", "--rfc2136-tsig-secret=hidden", "--rfc2136-kerberos-password=hidden", "--pdns-api-key=hidden")
	want := []any{
		"pdns-api-key", "******", "rfc2136-kerberos-password", "******", "rfc2136-tsig-secret", "******",
		"source", "[service]", "txt-encrypt-aes-key", "******",
	}
	if diff := cmp.Diff(want, configure.LogAttrs(flags)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestResources(t *testing.T) {
	tests := map[string]struct {
		args  []string
		want  []string
		needs bool
	}{
		"nothing":   {args: []string{"--source=empty", "--source=fake", "--source=connector"}},
		"registry":  {args: []string{"--source=empty", "--registry=crd"}, needs: true},
		"services":  {args: []string{"--source=node", "--source=service"}, want: []string{"EndpointSlice.discovery.k8s.io", "Node", "Pod", "Service"}, needs: true},
		"own kinds": {args: []string{"--source=crd", "--crd-source-kind=Record", "--crd-source-apiversion=dns.example.org/v1"}, want: []string{"Record.dns.example.org"}, needs: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o, _ := given(t, tt.args...)
			var kinds []string
			for _, r := range o.Reads() {
				kinds = append(kinds, r.Kind.GroupKind().String())
			}
			slices.Sort(kinds)
			if diff := cmp.Diff(tt.want, slices.Compact(kinds)); diff != "" || o.NeedsCluster() != tt.needs {
				t.Errorf("needs a cluster: %v; kinds (-want +got):\n%s", o.NeedsCluster(), diff)
			}
		})
	}
}

// Input.Provider replaces the provider of --provider.
func TestOpen(t *testing.T) {
	o, _ := given(t, append(valid, "--source=service", "--source=node", "--dry-run")...)
	given := inmemory.New("example.org")
	opened, err := o.Open(t.Context(), configure.Input{Log: slog.New(slog.DiscardHandler), Provider: given})
	if err != nil {
		t.Fatal(err)
	}
	if opened.Publisher.Provider != provider.Provider(given) || !opened.Publisher.DryRun {
		t.Errorf("provider %v, dry run %v", opened.Publisher.Provider, opened.Publisher.DryRun)
	}
	if len(opened.Publisher.Sources) != 2 || len(opened.Tables) == 0 {
		t.Errorf("sources %v, %d tables: a source that is named twice is one", opened.Publisher.Sources, len(opened.Tables))
	}
}

// The flags for batches and for the list of zones reach the publisher (D16), and the properties of
// all providers are kept (D20).
func TestOpenProviders(t *testing.T) {
	o, _ := given(t, "--source=empty", "--policy=sync", "--provider=webhook", "--provider=skydns",
		"--batch-change-size=7", "--batch-change-interval=3s", "--zones-cache-duration=1h")
	opened, err := o.Open(t.Context(), configure.Input{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	want := publisher.Limits{BatchSize: 7, BatchInterval: 3 * time.Second, ZonesCache: time.Hour}
	if opened.Publisher.Limits != want {
		t.Errorf("limits %+v, want %+v", opened.Publisher.Limits, want)
	}
	wanted := &dns.RecordSet{Name: "www.example.org", Type: "A", Targets: []string{"192.0.2.1"}, Properties: []dns.Property{
		{Name: "aws/weight", Value: "1"}, {Name: "coredns/group", Value: "g"}, {Name: "webhook/x", Value: "y"},
	}}
	opened.Publisher.Desired.Put(desired.Origin{Source: "empty"}, []*dns.RecordSet{wanted})
	got := opened.Publisher.Desired.Want(wanted.Name)
	if len(got) != 1 {
		t.Fatalf("wanted are %v", got)
	}
	if diff := cmp.Diff(wanted.Properties[1:], got[0].Properties); diff != "" {
		t.Errorf("properties (-want +got):\n%s", diff)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestMeasureHTTP(t *testing.T) {
	registry := prometheus.NewRegistry()
	wrap, err := configure.MeasureHTTP(registry)
	if err != nil {
		t.Fatal(err)
	}
	status := http.StatusNoContent
	transport := wrap(roundTripper(func(*http.Request) (*http.Response, error) {
		if status == 0 {
			return nil, errors.New("unreachable")
		}
		return &http.Response{StatusCode: status}, nil
	}))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://api.example.org/v1/records", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := transport.RoundTrip(req); err != nil || resp.StatusCode != status {
		t.Errorf("%v, %v", resp, err)
	}
	status = 0
	if _, err := transport.RoundTrip(req); err == nil {
		t.Error("no error")
	}
	if n, err := testutil.GatherAndCount(registry, "external_dns_http_request_duration_seconds"); err != nil || n != 2 {
		t.Errorf("%d samples, %v; want one of the status 204 and one without", n, err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{}
	for _, l := range families[0].GetMetric()[1].GetLabel() {
		labels[l.GetName()] = l.GetValue()
	}
	want := map[string]string{"handler": "instrumented_http", "scheme": "https", "host": "api.example.org", "path": "records", "method": "POST", "status": "204"}
	if diff := cmp.Diff(want, labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}

// Providers whose requests have the ID of a record in the path don't get a series for each record.
func TestHTTPMetricsAreBounded(t *testing.T) {
	registry := prometheus.NewRegistry()
	wrap, err := configure.MeasureHTTP(registry)
	if err != nil {
		t.Fatal(err)
	}
	transport := wrap(roundTripper(func(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: http.StatusOK}, nil }))
	send := func(path string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, "https://api.example.org/zones/z/"+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := transport.RoundTrip(req); err != nil {
			t.Fatal(err)
		}
	}
	send("dns_records")
	for i := range 10_000 {
		send(fmt.Sprintf("dns_records/%032x", i))
	}
	send("dns_records")
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	requests := map[string]uint64{}
	for _, m := range families[0].GetMetric() {
		for _, l := range m.GetLabel() {
			if l.GetName() == "path" {
				requests[l.GetValue()] += m.GetSummary().GetSampleCount()
			}
		}
	}
	if len(requests) > 100 || requests["dns_records"] != 2 || requests["other"] < 9_000 {
		t.Errorf("there are %d series, with %d requests for dns_records and %d for others", len(requests), requests["dns_records"], requests["other"])
	}
}

// A --target-template that no source reads is an error (D16).
func TestTargetTemplate(t *testing.T) {
	o, _ := given(t, append(valid, "--source=service", "--fqdn-template={{.Name}}.example.org", "--target-template=192.0.2.1")...)
	if err := o.Validate(); err == nil || !strings.Contains(err.Error(), "--target-template: not read by ") || !strings.Contains(err.Error(), "service") {
		t.Errorf("error %v, want one that names the flag and the sources", err)
	}
}

// The provider and the server of the webhook protocol have one set of limits.
func TestWebhookLimits(t *testing.T) {
	o, _ := given(t, "--webhook-provider-read-timeout=7s", "--webhook-provider-max-body-size=99")
	if l := o.WebhookLimits(); l.ReadTimeout != 7*time.Second || l.MaxBodySize != 99 || l.WriteTimeout != 10*time.Second {
		t.Errorf("limits %+v", l)
	}
	o, _ = given(t, "--provider=webhook", "--webhook-provider-max-body-size=-1")
	if _, err := o.OpenProvider(t.Context(), configure.Input{Log: slog.New(slog.DiscardHandler)}); err == nil || !strings.Contains(err.Error(), "--webhook-provider-max-body-size") {
		t.Errorf("error %v: the provider doesn't see the flag", err)
	}
}

// Templates may name each source of Signpost and of ExternalDNS.
func TestIsSource(t *testing.T) {
	for name, known := range map[string]bool{"service": true, "externalworkload": true, "skipper-routegroup": true, "unstructured": true, "serviec": false} {
		o, _ := given(t, "--fqdn-template={{isSource `"+name+"`}}")
		settings, err := o.Source.Settings()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := settings.Templates.For(source.Plugin{Templates: true}).Names(&corev1.Service{}); (err == nil) != known {
			t.Errorf("isSource %s: %v", name, err)
		}
	}
}

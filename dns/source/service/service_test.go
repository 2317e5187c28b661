package service

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/testkit/sourcetest"
)

func TestMain(m *testing.M) { sourcetest.Main(m, "") }

// fixtureCase has objects and their expected records.
type fixtureCase struct {
	name  string
	flags []string
	// objects are YAML; P stands for the usual prefix of annotations.
	objects string
	// want is what [sourcetest.Fixture.Records] returns.
	want string
}

func runCases(t *testing.T, cases []fixtureCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			fixture := sourcetest.MustOpen(t, Plugin(), withPrefix(c.objects), c.flags...)
			if diff := cmp.Diff(c.want, fixture.Records()); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
		})
	}
}

func withPrefix(text string) string {
	return strings.ReplaceAll(text, "P/", "external-dns.kubernetes.io/")
}

// The Services of the tables. Their namespace is testing, their name foo.
func loadBalancer(annotations, ingress string) string {
	return withPrefix(`
apiVersion: v1
kind: Service
metadata: {namespace: testing, name: foo, annotations: {` + annotations + `}}
spec: {type: LoadBalancer, clusterIP: 10.0.0.10}
status: {loadBalancer: {ingress: [` + ingress + `]}}
`)
}

func specified(annotations, spec string) string {
	return withPrefix(`
apiVersion: v1
kind: Service
metadata: {namespace: testing, name: foo, annotations: {` + annotations + `}}
spec: {` + spec + `}
`)
}

// foo is the end of each line of the Service foo's records; fooKey is the beginning.
const (
	foo    = " resource=service/testing/foo\n"
	fooKey = "testing/foo\n"
)

func TestHostnames(t *testing.T) {
	ip := `{ip: 1.2.3.4}`
	runCases(t, []fixtureCase{
		{name: "case 128: no annotation", objects: loadBalancer("", ip)},
		{
			name: "case 129: a hostname and the address of a load balancer", objects: loadBalancer("P/hostname: foo.example.org.", ip),
			want: fooKey + "  foo.example.org A 1.2.3.4" + foo,
		},
		{
			name: "case 130: a load balancer with a name", objects: loadBalancer("P/hostname: foo.example.org.", `{hostname: lb.example.com}`),
			want: fooKey + "  foo.example.org CNAME lb.example.com" + foo,
		},
		{
			name:    "a load balancer with both in one entry",
			objects: loadBalancer("P/hostname: foo.example.org.", `{ip: 1.2.3.4, hostname: lb.example.com}`),
			want:    fooKey + "  foo.example.org A 1.2.3.4" + foo + "  foo.example.org CNAME lb.example.com" + foo,
		},
		{
			name: "case 131: two hostnames", objects: loadBalancer(`P/hostname: "foo.example.org., bar.example.org"`, ip),
			want: fooKey + "  bar.example.org A 1.2.3.4" + foo + "  foo.example.org A 1.2.3.4" + foo,
		},
		{
			name: "case 132: no dot at the end", objects: loadBalancer("P/hostname: foo.example.org", ip),
			want: fooKey + "  foo.example.org A 1.2.3.4" + foo,
		},
		{
			name: "an empty hostname", objects: loadBalancer(`P/hostname: " , "`, ip),
		},
		{
			name: "case 134: annotations ignored, the template still used", objects: loadBalancer("P/hostname: foo.example.org, P/internal-hostname: in.example.org", ip),
			flags: []string{"--ignore-hostname-annotation", "--fqdn-template={{.Name}}.example.net"},
			want:  fooKey + "  foo.example.net A 1.2.3.4" + foo,
		},
		{
			name: "case 152: a label that is too long", objects: loadBalancer("P/hostname: "+strings.Repeat("a", 64)+".example.org", ip),
			// Package desired, not the source, drops this name and reports it.
			want: fooKey + "  " + strings.Repeat("a", 64) + ".example.org A 1.2.3.4" + foo,
		},
	})
}

func TestLoadBalancer(t *testing.T) {
	hostname := "P/hostname: foo.example.org"
	runCases(t, []fixtureCase{
		{name: "case 140: no status", objects: loadBalancer(hostname, "")},
		{
			name: "case 141: external IPs beat the status", want: fooKey + "  foo.example.org A 10.2.3.4 11.2.3.4" + foo,
			objects: specified(hostname, `type: LoadBalancer, externalIPs: [10.2.3.4, 11.2.3.4]`) + "status: {loadBalancer: {ingress: [{ip: 1.2.3.4}]}}",
		},
		{
			name: "case 142: two addresses", objects: loadBalancer(hostname, `{ip: 8.8.8.8}, {ip: 1.2.3.4}`),
			want: fooKey + "  foo.example.org A 1.2.3.4 8.8.8.8" + foo,
		},
		{
			name: "case 149: dual stack", objects: loadBalancer(hostname, `{ip: 1.2.3.4}, {ip: "2001:db8::1"}`),
			want: fooKey + "  foo.example.org A 1.2.3.4" + foo + "  foo.example.org AAAA 2001:db8::1" + foo,
		},
		{
			name: "case 149: IPv6 only", objects: loadBalancer(hostname, `{ip: "2001:db8::1"}`),
			want: fooKey + "  foo.example.org AAAA 2001:db8::1" + foo,
		},
		{
			name: "case 136: an internal hostname", objects: loadBalancer("P/internal-hostname: in.example.org", `{ip: 1.2.3.4}`),
			want: fooKey + "  in.example.org A 10.0.0.10" + foo,
		},
		{
			name: "case 136: both", objects: loadBalancer(hostname+", P/internal-hostname: in.example.org", `{ip: 1.2.3.4}`),
			want: fooKey + "  foo.example.org A 1.2.3.4" + foo + "  in.example.org A 10.0.0.10" + foo,
		},
		{
			name: "case 136: no cluster IP", objects: specified("P/internal-hostname: in.example.org", "type: LoadBalancer, clusterIP: None"),
		},
		{name: "case 147: ttl 10", objects: loadBalancer(hostname+`, P/ttl: "10"`, `{ip: 1.2.3.4}`), want: fooKey + "  foo.example.org A 1.2.3.4 ttl=10" + foo},
		{name: "case 147: ttl 1m", objects: loadBalancer(hostname+`, P/ttl: 1m`, `{ip: 1.2.3.4}`), want: fooKey + "  foo.example.org A 1.2.3.4 ttl=60" + foo},
		{
			name: "case 150: a property and a set identifier", objects: loadBalancer(hostname+`, P/aws-weight: "10", P/set-identifier: one`, `{ip: 1.2.3.4}`),
			want: fooKey + "  foo.example.org A 1.2.3.4 set=one aws/weight=10" + foo,
		},
		{
			name: "case 148: the filter has the type", objects: loadBalancer(hostname, `{ip: 1.2.3.4}`), flags: []string{"--service-type-filter=LoadBalancer"},
			want: fooKey + "  foo.example.org A 1.2.3.4" + foo,
		},
		{name: "case 148: the filter doesn't have the type", objects: loadBalancer(hostname, `{ip: 1.2.3.4}`), flags: []string{"--service-type-filter=ClusterIP"}},
		{
			name: "an empty filter is none", objects: loadBalancer(hostname, `{ip: 1.2.3.4}`), flags: []string{"--service-type-filter=ClusterIP", "--service-type-filter="},
			want: fooKey + "  foo.example.org A 1.2.3.4" + foo,
		},
	})
}

// TestUnknownType covers case 148.
func TestUnknownType(t *testing.T) {
	_, err := sourcetest.Open(t, Plugin(), "--service-type-filter=ClusterIP", "--service-type-filter=Unknown")
	if err == nil || !strings.Contains(err.Error(), `--service-type-filter "Unknown"`) {
		t.Errorf("case 148: got %v, want an error that names the flag and the type", err)
	}
}

func TestOtherTypes(t *testing.T) {
	hostname := "P/hostname: foo.example.org"
	clusterIP := `type: ClusterIP, clusterIP: 10.0.0.10`
	runCases(t, []fixtureCase{
		{name: "case 135: a cluster IP isn't published", objects: specified(hostname, clusterIP)},
		{
			name: "a Service that nobody gave a type", objects: specified(hostname, "clusterIP: 10.0.0.10"), flags: []string{"--publish-internal-services"},
			want: fooKey + "  foo.example.org A 10.0.0.10" + foo,
		},
		{
			name: "case 135: unless a flag says so", objects: specified(hostname, clusterIP), flags: []string{"--publish-internal-services"},
			want: fooKey + "  foo.example.org A 10.0.0.10" + foo,
		},
		{
			name: "case 136: an internal hostname of a ClusterIP", objects: specified("P/internal-hostname: in.example.org", clusterIP),
			want: fooKey + "  in.example.org A 10.0.0.10" + foo,
		},
		{name: "case 151: target IPv4", objects: specified(hostname+", P/target: 1.2.3.4", clusterIP), want: fooKey + "  foo.example.org A 1.2.3.4" + foo},
		{name: "case 151: target IPv6", objects: specified(hostname+`, P/target: "2001:db8::1"`, clusterIP), want: fooKey + "  foo.example.org AAAA 2001:db8::1" + foo},
		{name: "case 151: target name", objects: specified(hostname+", P/target: lb.example.com.", clusterIP), want: fooKey + "  foo.example.org CNAME lb.example.com" + foo},
		{
			name:    "case 151: several targets, also for the internal hostname",
			objects: specified(hostname+`, P/internal-hostname: in.example.org, P/target: "1.2.3.4, lb.example.com, 2001:db8::1, 4.3.2.1"`, clusterIP),
			want: fooKey + "  foo.example.org A 1.2.3.4 4.3.2.1" + foo + "  foo.example.org AAAA 2001:db8::1" + foo + "  foo.example.org CNAME lb.example.com" + foo +
				"  in.example.org A 1.2.3.4 4.3.2.1" + foo + "  in.example.org AAAA 2001:db8::1" + foo + "  in.example.org CNAME lb.example.com" + foo,
		},
		{
			name: "case 171: ExternalName", objects: specified(hostname, "type: ExternalName, externalName: remote.example.com"),
			want: fooKey + "  foo.example.org CNAME remote.example.com" + foo,
		},
		{
			name: "case 171: ExternalName that is an IPv4 address", objects: specified(hostname, "type: ExternalName, externalName: 111.111.111.111"),
			want: fooKey + "  foo.example.org A 111.111.111.111" + foo,
		},
		{
			name: "case 171: ExternalName that is an IPv6 address", objects: specified(hostname, `type: ExternalName, externalName: "2001:db8::111"`),
			want: fooKey + "  foo.example.org AAAA 2001:db8::111" + foo,
		},
		{
			name:    "case 171: external IPs win, dual stack",
			objects: specified(hostname, `type: ExternalName, externalName: remote.example.com, externalIPs: [10.2.3.4, "2001:db8::1"]`),
			want:    fooKey + "  foo.example.org A 10.2.3.4" + foo + "  foo.example.org AAAA 2001:db8::1" + foo,
		},
		{
			name: "case 171: excluded by its type", objects: specified(hostname, "type: ExternalName, externalName: remote.example.com"),
			flags: []string{"--service-type-filter=LoadBalancer"},
		},
	})
}

func TestTemplates(t *testing.T) {
	ip, named := `{ip: 1.2.3.4}`, "--fqdn-template={{.Name}}.fqdn.org,{{.Name}}.fqdn.com"
	hostname := "P/hostname: foo.example.org"
	runCases(t, []fixtureCase{
		{
			name: "cases 144, 146: two names of a template", objects: loadBalancer("", ip), flags: []string{named},
			want: fooKey + "  foo.fqdn.com A 1.2.3.4" + foo + "  foo.fqdn.org A 1.2.3.4" + foo,
		},
		{
			name: "case 144: an annotation wins", objects: loadBalancer(hostname, ip), flags: []string{named},
			want: fooKey + "  foo.example.org A 1.2.3.4" + foo,
		},
		{
			name: "case 144: both", objects: loadBalancer(hostname, ip), flags: []string{"--fqdn-template={{.Name}}.fqdn.org", "--combine-fqdn-annotation"},
			want: fooKey + "  foo.example.org A 1.2.3.4" + foo + "  foo.fqdn.org A 1.2.3.4" + foo,
		},
		{
			name: "case 173: pairs, with the label resource, unlike ExternalDNS (tenants S1)", objects: loadBalancer("", ""),
			flags: []string{`--fqdn-target-template=a.example.org:1.2.3.4,b.example.org:lb.example.com,{{.Name}}.example.org:2001:db8::1,missing`},
			want:  fooKey + "  a.example.org A 1.2.3.4" + foo + "  b.example.org CNAME lb.example.com" + foo + "  foo.example.org AAAA 2001:db8::1" + foo,
		},
		{
			name: "case 173: pairs are ignored with an annotation", objects: loadBalancer(hostname, ip), flags: []string{"--fqdn-target-template=a.example.org:1.2.3.4"},
			want: fooKey + "  foo.example.org A 1.2.3.4" + foo,
		},
		{
			name: "case 173: pairs come before names", objects: loadBalancer("", ip), flags: []string{"--fqdn-target-template=a.example.org:9.9.9.9", named},
			want: fooKey + "  a.example.org A 9.9.9.9" + foo,
		},
		{
			name: "case 173: unless combined", objects: loadBalancer(hostname, ip),
			flags: []string{"--fqdn-target-template=a.example.org:9.9.9.9", "--fqdn-template=b.example.org", "--combine-fqdn-annotation"},
			want:  fooKey + "  a.example.org A 9.9.9.9" + foo + "  b.example.org A 1.2.3.4" + foo + "  foo.example.org A 1.2.3.4" + foo,
		},
	})
}

// TestTemplateFails covers an unknown field in a template (case 145).
func TestTemplateFails(t *testing.T) {
	fixture := sourcetest.MustOpen(t, Plugin(), loadBalancer("", `{ip: 1.2.3.4}`), "--fqdn-template={{.Calibre}}.example.org")
	if got := fixture.Records(); !strings.Contains(got, "error execute --fqdn-template for Service testing/foo") {
		t.Errorf("case 145: got\n%swant an error of the Service", got)
	}
}

// TestCompatibility shows that records from annotations of older programs have the label resource, unlike in
// ExternalDNS. Without the label, the Service couldn't hold its name (docs/dns/tenancy.md).
func TestCompatibility(t *testing.T) {
	entries := `{ip: 1.2.3.4}, {hostname: lb.example.com}, {ip: "2001:db8::1"}`
	all := func(name string) string {
		return "  " + name + " A 1.2.3.4" + foo + "  " + name + " AAAA 2001:db8::1" + foo + "  " + name + " CNAME lb.example.com" + foo
	}
	mate := loadBalancer("zalando.org/dnsname: mate.example.org.", entries)
	molecule := strings.Replace(loadBalancer(`domainName: "m1.example.org, m2.example.org"`, entries), "name: foo", "name: foo, labels: {dns: route53}", 1)
	kops := loadBalancer("dns.alpha.kubernetes.io/external: out.example.org, dns.alpha.kubernetes.io/internal: in.example.org", entries)
	runCases(t, []fixtureCase{
		{name: "case 143: mate", objects: mate, flags: []string{"--compatibility=mate"}, want: fooKey + all("mate.example.org")},
		{name: "case 143: mate without the mode", objects: mate},
		{name: "case 143: molecule", objects: molecule, flags: []string{"--compatibility=molecule"}, want: fooKey + all("m1.example.org") + all("m2.example.org")},
		{
			name: "case 143: molecule without the label", flags: []string{"--compatibility=molecule"},
			objects: strings.Replace(molecule, "dns: route53", "dns: other", 1),
		},
		{name: "case 143: kops", objects: kops, flags: []string{"--compatibility=kops-dns-controller"}, want: fooKey + all("in.example.org") + all("out.example.org")},
		{name: "case 143: kops annotations in another mode", objects: kops, flags: []string{"--compatibility=mate"}},
		{
			name: "case 143: our own annotation comes first", flags: []string{"--compatibility=mate"},
			objects: strings.Replace(mate, "zalando", "external-dns.kubernetes.io/hostname: foo.example.org, zalando", 1),
			want:    fooKey + all("foo.example.org"),
		},
		{
			name: "case 143: suppresses the template", objects: mate, flags: []string{"--compatibility=mate", "--fqdn-template=t.example.org"},
			want: fooKey + all("mate.example.org"),
		},
	})
}

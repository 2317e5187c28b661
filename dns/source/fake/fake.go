package fake

import (
	"context"
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/source"
)

const (
	name = "fake"
	// seed makes the random names reproducible.
	seed = 9673
	// defaultBase is the base name without a template.
	defaultBase = "example.com"
)

// Plugin returns the source of this package.
func Plugin() source.Plugin {
	return source.Plugin{
		Name: name, Summary: "Invented records of all types, new ones each time, for trying out a provider", Category: "testing",
		Templates: true,
		New:       func() source.Config { return Config{} },
	}
}

// Config has no settings.
type Config struct {
	source.NoFlags
	source.NoObjects
}

// Open implements [source.Config].
func (Config) Open(in source.Input) (source.Source, error) {
	bases, err := baseNames(in.Settings.Templates.For(in.Plugin))
	if err != nil {
		return source.Source{}, err
	}
	m := &maker{random: rand.New(rand.NewPCG(seed, seed))}
	return source.Source{Poll: func(context.Context) ([]*dns.RecordSet, error) {
		var records []*dns.RecordSet
		for _, base := range bases {
			records = append(records, m.records(base, len(bases))...)
		}
		return records, nil
	}}, nil
}

// baseNames returns the parent names of the records.
func baseNames(templates *source.Templates) ([]string, error) {
	if !templates.HasNames() {
		return []string{defaultBase}, nil
	}
	names, err := templates.Names(&corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name},
	})
	if err == nil && len(names) == 0 {
		names = []string{defaultBase}
	}
	return names, err
}

// maker creates random records.
type maker struct{ random *rand.Rand }

// records returns a record set of each type below a base name. bases is the number of base names.
func (m *maker) records(base string, bases int) []*dns.RecordSet {
	random := func() string { return m.label(4) + "." + base }
	sip := "_sip._udp." + base
	return []*dns.RecordSet{
		record(random(), dns.TypeA, m.several(bases, m.ipv4)...),
		record(random(), dns.TypeAAAA, m.several(bases, m.ipv6)...),
		record(random(), dns.TypeCNAME, random()),
		record(random(), dns.TypeDNAME, random()),
		record(random(), dns.TypeTXT, `"heritage=external-dns,external-dns/owner=fake"`),
		record(sip, dns.TypeSRV, "10 20 5060 "+random()+"."),
		record(base, dns.TypeNS, m.label(3)+"."+base),
		record(fmt.Sprintf("%d.2.0.192.in-addr.arpa", m.host()), dns.TypePTR, random()),
		record(base, dns.TypeMX, "10 "+random()),
		record(sip, dns.TypeNAPTR, `10 10 "U" "SIP+D2U" "!^.*$!sip:`+m.label(4)+"@"+base+`!" .`),
	}
}

func record(dnsName, recordType string, targets ...string) *dns.RecordSet {
	r := &dns.RecordSet{
		Name: dnsName, Type: recordType, Targets: targets, SetIdentifier: name,
		Labels: map[string]string{},
	}
	r = r.Normal()
	r.Labels[dns.LabelResource] = name + "/" + metav1.NamespaceDefault + "/" + r.Name
	return r
}

// label returns n lower-case letters.
func (m *maker) label(n int) string {
	letters := make([]byte, n)
	for i := range letters {
		letters[i] = 'a' + byte(m.random.IntN(26))
	}
	return string(letters)
}

// host returns the last byte of a host address in 192.0.2.0/24.
func (m *maker) host() int { return 1 + m.random.IntN(253) }

func (m *maker) ipv4() string { return fmt.Sprintf("192.0.2.%d", m.host()) }

func (m *maker) ipv6() string {
	return fmt.Sprintf("2001:db8::%x:%x", 1+m.random.IntN(0xffff), 1+m.random.IntN(0xffff))
}

// several returns n targets, sorted, or fewer if some are equal.
func (m *maker) several(n int, one func() string) []string {
	var targets []string
	for range n {
		targets = append(targets, one())
	}
	return dns.UniqueSorted(targets)
}

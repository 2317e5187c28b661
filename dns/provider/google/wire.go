package google

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	dnsapi "google.golang.org/api/dns/v1"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

const (
	// defaultTTL is the default TTL in seconds.
	defaultTTL = 300
	// maxValues limits the values of a record set, and maxServers those of a delegation (Cloud DNS, quotas).
	maxValues  = 100
	maxServers = 8
)

// handled are the supported record types.
var handled = []string{
	dns.TypeA, dns.TypeAAAA, dns.TypeCNAME, dns.TypeNS, dns.TypeMX, dns.TypePTR, dns.TypeSRV, dns.TypeNAPTR, dns.TypeTXT,
}

// wire returns the record set that Cloud DNS is to store in a zone, or why that is impossible. Aliases and
// properties are dropped.
func wire(zone dns.Zone, r *dns.RecordSet) (*dnsapi.ResourceRecordSet, error) {
	n := *r.Normal()
	n.Properties, n.SetIdentifier = nil, ""
	if err := check(zone, &n); err != nil {
		return nil, err
	}
	raw := &dnsapi.ResourceRecordSet{
		Name: wireName(n.Name), Type: n.Type, Ttl: cmp.Or(n.TTL, defaultTTL), Rrdatas: make([]string, len(n.Targets)),
	}
	for i, t := range n.Targets {
		raw.Rrdatas[i] = provider.WireValue(n.Type, t, dns.QuoteText)
	}
	raw.Rrdatas = dns.UniqueSorted(raw.Rrdatas)
	return raw, nil
}

// check rejects what Cloud DNS can't store.
func check(zone dns.Zone, n *dns.RecordSet) error {
	if !slices.Contains(handled, n.Type) {
		return fmt.Errorf("record sets of the type %s aren't written to Cloud DNS: there are %s", n.Type, strings.Join(handled, ", "))
	}
	if err := n.Check(); err != nil {
		return err
	}
	switch {
	case len(n.Targets) > maxValues:
		return fmt.Errorf("%d targets: Cloud DNS has %d in a record set: remove some", len(n.Targets), maxValues)
	case n.Type == dns.TypeNS && len(n.Targets) > maxServers:
		return fmt.Errorf("%d targets: Cloud DNS has %d name servers for a delegation: remove some", len(n.Targets), maxServers)
	case n.Type == dns.TypeCNAME && len(n.Targets) > 1:
		return fmt.Errorf("%d targets: a CNAME has one", len(n.Targets))
	case n.Type == dns.TypeCNAME && n.Name == zone.Name:
		return errors.New("a CNAME can't be at the apex of a zone: ask for addresses")
	case n.TTL > math.MaxInt32:
		return fmt.Errorf("the TTL of %d s is too large: it must be at most %d", n.TTL, math.MaxInt32)
	}
	return nil
}

// wireName returns a name in Cloud DNS' form: in lower case, with a dot at its end.
func wireName(name string) string { return dns.Canonical(name) + "." }

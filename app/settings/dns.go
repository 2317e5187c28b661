package settings

import (
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/signpostd/signpost/dns/configure"
)

// DNS is the settings of the dns role.
type DNS struct {
	Publishers []*configure.Options
	Leader     Leader
	// also, unless nil, checks a publisher as it is read: see [Check].
	also func(*configure.Options) error
	// secretFile is that of [References].
	secretFile func(path string) (string, error)
}

// DefaultDNSLease is the default Lease of the role dns. A release of the chart with another name
// has its own Lease.
const DefaultDNSLease = "signpost-dns"

// defaultDNS returns the defaults of config files. On the command line there is no election by
// default, because the user of a single ExternalDNS has granted no rights to Leases.
func defaultDNS() DNS {
	return DNS{Leader: defaultLeader(DefaultDNSLease, "kube-system")}
}

// Settings implements [Section].
func (o *DNS) Settings() []Setting {
	return append(o.Leader.settings(DNSSection, "`namespace` of the Lease", namespacePattern),
		Setting{Path: "dns.publishers", Value: &publishersValue{o}, Usage: "list of publishers; the fields of each are name and the flags of `signpost dns`, with a list for a flag that may be repeated"})
}

// validate implements [Section]. Publishers are checked when they are read.
func (o *DNS) validate() []problem { return o.Leader.validate() }

// textFormat is the format of the log with ExternalDNS' names: text or json.
type textFormat struct{ target *string }

func (v textFormat) String() string {
	if *v.target == "plain" {
		return "text"
	}
	return *v.target
}

func (v textFormat) Type() string { return "string" }

func (v textFormat) Set(s string) error {
	switch strings.ToLower(s) {
	case "text", "plain":
		*v.target = "plain"
	case "json":
		*v.target = "json"
	default:
		return errors.New("must be text or json")
	}
	return nil
}

// NamespacesOf returns the namespaces in which the process reads each kind of objects; nil if it
// reads all of all kinds. A kind with an empty list is read in all namespaces. The process must
// read no others, because it may lack the right to.
func (c *Config) NamespacesOf() map[schema.GroupResource][]string {
	if c.RunsDestination || c.RunsControllers || !c.RunsDNS {
		return nil
	}
	return namespacesOf(c.DNS.Publishers)
}

// namespacesOf returns the namespaces in which any publisher reads each kind of objects.
func namespacesOf(publishers []*configure.Options) map[schema.GroupResource][]string {
	of := map[schema.GroupResource][]string{}
	for _, p := range publishers {
		configure.Widen(of, p.NamespacesOf())
	}
	return of
}

package configure

import (
	"strings"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/source"
)

// Remark is about a flag value that ExternalDNS accepts but that has no sensible meaning. On the
// command line it is a warning, so that a configuration of ExternalDNS starts here too. In a config
// file it is an error.
type Remark struct {
	// Flag is the name of the flag, without dashes.
	Flag, Value string
	// Reason says what is wrong and what to do, Instead what the value does now.
	Reason, Instead string
}

// minInterval is the least time between two listings of a zone, as in ExternalDNS. With less, a process does
// nothing else, and uses up the rate limit of its account.
const minInterval = time.Second

// Remarks returns the remarks about the flags.
func (o *Options) Remarks() []Remark {
	var remarks []Remark
	add := func(flag, value, reason, instead string) {
		remarks = append(remarks, Remark{Flag: flag, Value: value, Reason: reason, Instead: instead})
	}
	for _, list := range []struct {
		flag    string
		values  []string
		instead string
	}{
		{"domain-filter", o.DomainFilter, "no name is in this domain"},
		{"exclude-domains", o.ExcludeDomains, "no name is in this domain"},
		{"zone-name-filter", o.ZoneNames, "no zone is in this domain"},
		{"default-targets", o.DefaultTargets, "records with this target are refused"},
	} {
		for _, value := range list.values {
			switch {
			case strings.Contains(value, ","):
				add(list.flag, value, "contains a comma: repeat the flag, once for each value", list.instead)
			case strings.HasPrefix(value, "*.") && list.flag != "default-targets":
				add(list.flag, value, "begins with an asterisk: a domain includes all names below it, so leave out the asterisk", list.instead)
			case list.flag != "default-targets" && !canBeDomain(value):
				add(list.flag, value, "no domain name: write one, such as example.org", list.instead)
			}
		}
	}
	_, networks := dns.NewTargetFilter(o.TargetNets, o.ExceptNets)
	for _, p := range networks {
		add(strings.TrimPrefix(p.Subject, "--"), p.Value, p.Reason, "the network is ignored")
	}
	if templates := o.Source.FQDNTemplates; len(templates) > 0 && len(o.sourcesWith(func(p source.Plugin) bool { return p.Templates })) == 0 {
		add("fqdn-template", strings.Join(templates, ","), "not read by "+strings.Join(o.Sources, ", ")+": use the annotation hostname where the source reads it", "no name is made of it")
	}
	if o.Interval > 0 && o.Interval < minInterval {
		add("interval", o.Interval.String(), "must be at least "+minInterval.String()+": changes of objects are published at once anyway", minInterval.String()+" is used")
	}
	return remarks
}

// canBeDomain reports whether an item of a domain filter can match a name. Empty items are ignored.
func canBeDomain(item string) bool {
	name := dns.Canonical(strings.TrimPrefix(strings.TrimSpace(item), "."))
	return name == "" || dns.CheckName(name) == nil
}

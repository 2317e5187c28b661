package aws

import (
	"strings"

	"github.com/signpostd/signpost/dns"
)

// globalServices are the services of AWS whose names are all in one hosted zone.
var globalServices = map[string]string{
	"awsglobalaccelerator.com": "Z2BJ6XQ5FK7U4H",
	"cloudfront.net":           "Z2FDTNDATAQYW2",
}

// serviceZone returns the ID of the hosted zone in which a service of AWS has a name, or "" if
// the name is none of AWS (spec/dns.md §A). The labels before the domain of AWS end with those of
// the service and of the region.
func serviceZone(name string) string {
	name = dns.Canonical(name)
	for domain, zone := range globalServices {
		if strings.HasSuffix(name, "."+domain) {
			return zone
		}
	}
	rest, ok := strings.CutSuffix(name, ".amazonaws.com")
	if !ok {
		if rest, ok = strings.CutSuffix(name, ".amazonaws.com.cn"); !ok {
			return ""
		}
	}
	labels := strings.Split(rest, ".")
	if len(labels) < 3 {
		return ""
	}
	china := strings.HasSuffix(name, ".cn")
	last, before := labels[len(labels)-1], labels[len(labels)-2]
	region := last
	switch {
	case last == "elb" || last == "vpce":
		region = before
	case before != "elb" && before != "execute-api":
		return ""
	}
	if strings.HasPrefix(region, "cn-") != china {
		return ""
	}
	switch {
	case last == "elb":
		return loadBalancers[region]
	case last == "vpce":
		return vpcEndpoints[region]
	case before == "elb":
		return networkLoadBalancers[region]
	default:
		return apiGateways[region]
	}
}

// aliasZone returns the ID of the hosted zone in which the target of an alias is: that of a
// service of AWS, or the alias's own zone. It is "" if neither has the name.
func aliasZone(zone dns.Zone, target string) string {
	if id := serviceZone(target); id != "" {
		return id
	}
	target = dns.Canonical(target)
	if target == zone.Name || strings.HasSuffix(target, "."+zone.Name) {
		return bareID(zone.ID)
	}
	return ""
}

// idPrefix begins the IDs of zones in answers of Route 53.
const idPrefix = "/hostedzone/"

func bareID(id string) string { return strings.TrimPrefix(id, idPrefix) }

package aws

import (
	"strings"

	"github.com/signpostd/signpost/dns"
)

// globalServices are AWS services whose names are all in one hosted zone.
var globalServices = map[string]string{
	"awsglobalaccelerator.com": "Z2BJ6XQ5FK7U4H",
	"cloudfront.net":           "Z2FDTNDATAQYW2",
}

// zoneOfService returns the ID of the hosted zone for the name of an AWS service, or "" for any other name
// (spec/dns.md §A). The labels before the domain of AWS end with those of the service and the region.
func zoneOfService(name string) string {
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
	zones := zonesOfRegion[region]
	switch {
	case last == "elb":
		return zones.loadBalancers
	case last == "vpce":
		return zones.vpcEndpoints
	case before == "elb":
		return zones.networkLoadBalancers
	default:
		return zones.apiGateways
	}
}

// aliasZone returns the ID of the hosted zone of an alias's target: that of an AWS service, or the alias's
// own zone. It is "" for any other name.
func aliasZone(zone dns.Zone, target string) string {
	if id := zoneOfService(target); id != "" {
		return id
	}
	target = dns.Canonical(target)
	if target == zone.Name || strings.HasSuffix(target, "."+zone.Name) {
		return bareID(zone.ID)
	}
	return ""
}

// idPrefix begins the zone IDs in responses.
const idPrefix = "/hostedzone/"

func bareID(id string) string { return strings.TrimPrefix(id, idPrefix) }

package aws

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/signpostd/signpost/dns"
)

// Properties of record sets at Route 53 (spec/dns.md §8.2).
const (
	prefix = "aws/"

	propertyWeight      = prefix + "weight"
	propertyRegion      = prefix + "region"
	propertyFailover    = prefix + "failover"
	propertyMultiValue  = prefix + "multi-value-answer"
	propertyContinent   = prefix + "geolocation-continent-code"
	propertyCountry     = prefix + "geolocation-country-code"
	propertySubdivision = prefix + "geolocation-subdivision-code"
	propertyNearRegion  = prefix + "geoproximity-region"
	propertyNearGroup   = prefix + "geoproximity-local-zone-group"
	propertyNearPlace   = prefix + "geoproximity-coordinates"
	propertyNearBias    = prefix + "geoproximity-bias"
	propertyHealthCheck = prefix + "health-check-id"
	propertyEvaluate    = prefix + "evaluate-target-health"
	propertyTargetZone  = prefix + "target-hosted-zone"
	propertyZone        = prefix + "hosted-zone-id"
	// propertyUnsupportedRouting marks record sets with an unsupported routing policy.
	propertyUnsupportedRouting = prefix + "unmanaged-policy"
)

const (
	maxWeight = 255
	maxBias   = 99
)

// routingPolicy is a routing policy with its properties.
type routingPolicy struct {
	name       string
	properties []string
	set        func(raw *types.ResourceRecordSet, get func(string) string) error
}

// routingPolicies are in the order in which record sets are checked (spec/clouds.md §1.4).
var routingPolicies = []routingPolicy{
	{"weighted", []string{propertyWeight}, setWeight},
	{"latency", []string{propertyRegion}, setRegion},
	{"failover", []string{propertyFailover}, setFailover},
	{"multivalue", []string{propertyMultiValue}, setMultiValue},
	{"geolocation", []string{propertyContinent, propertyCountry, propertySubdivision}, setGeolocation},
	{"geoproximity", []string{propertyNearRegion, propertyNearGroup, propertyNearPlace, propertyNearBias}, setGeoproximity},
}

// asked reports whether a record set has a property of the policy.
func (p routingPolicy) asked(r *dns.RecordSet) bool {
	return slices.ContainsFunc(p.properties, func(name string) bool { _, has := r.Property(name); return has })
}

// valueOf returns the value of a property, without white space around it; empty if there is none.
func valueOf(r *dns.RecordSet, property string) string {
	value, _ := r.Property(property)
	return strings.TrimSpace(value)
}

// setRouting sets the routing policy of a record set. A policy needs a set identifier and the reverse, and
// only one policy is possible.
func setRouting(raw *types.ResourceRecordSet, r *dns.RecordSet) error {
	var asked []string
	for _, f := range routingPolicies {
		if !f.asked(r) {
			continue
		}
		asked = append(asked, f.properties[0])
		if err := f.set(raw, func(name string) string { return valueOf(r, name) }); err != nil {
			return err
		}
	}
	switch {
	case len(asked) > 1:
		return fmt.Errorf("the properties %s ask for different routing policies: choose one", strings.Join(asked, " and "))
	case len(asked) == 1 && r.SetIdentifier == "":
		return fmt.Errorf("the property %s needs a set identifier: add the annotation set-identifier", asked[0])
	case len(asked) == 0 && r.SetIdentifier != "":
		return fmt.Errorf("the set identifier %q needs a routing policy: add one, such as the annotation aws-weight", r.SetIdentifier)
	}
	if r.SetIdentifier != "" {
		raw.SetIdentifier = aws.String(r.SetIdentifier)
	}
	return nil
}

// wholeNumber parses a property.
func wholeNumber(name, text string, low, high int64) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("the property %s is %q: it must be a whole number from %d to %d", name, text, low, high)
	}
	return n, nil
}

func setWeight(raw *types.ResourceRecordSet, get func(string) string) error {
	weight, err := wholeNumber(propertyWeight, get(propertyWeight), 0, maxWeight)
	raw.Weight = &weight
	return err
}

func setRegion(raw *types.ResourceRecordSet, get func(string) string) error {
	raw.Region = types.ResourceRecordSetRegion(strings.ToLower(get(propertyRegion)))
	if raw.Region == "" {
		return fmt.Errorf("the property %s is empty: give a region such as eu-west-1", propertyRegion)
	}
	return nil
}

func setFailover(raw *types.ResourceRecordSet, get func(string) string) error {
	raw.Failover = types.ResourceRecordSetFailover(strings.ToUpper(get(propertyFailover)))
	if !slices.Contains(raw.Failover.Values(), raw.Failover) {
		return fmt.Errorf("the property %s is %q: it must be PRIMARY or SECONDARY", propertyFailover, get(propertyFailover))
	}
	return nil
}

func setMultiValue(raw *types.ResourceRecordSet, _ func(string) string) error {
	raw.MultiValueAnswer = aws.Bool(true)
	return nil
}

func setGeolocation(raw *types.ResourceRecordSet, get func(string) string) error {
	location := &types.GeoLocation{
		ContinentCode: optional(strings.ToUpper(get(propertyContinent))), CountryCode: optional(strings.ToUpper(get(propertyCountry))),
		SubdivisionCode: optional(strings.ToUpper(get(propertySubdivision))),
	}
	raw.GeoLocation = location
	switch {
	case location.ContinentCode != nil && (location.CountryCode != nil || location.SubdivisionCode != nil):
		return fmt.Errorf("the property %s excludes a country and a subdivision: choose one", propertyContinent)
	case location.ContinentCode == nil && location.CountryCode == nil:
		return fmt.Errorf("the property %s or %s must have a value; the country * is for all other places", propertyContinent, propertyCountry)
	}
	return nil
}

func setGeoproximity(raw *types.ResourceRecordSet, get func(string) string) error {
	near := &types.GeoProximityLocation{AWSRegion: optional(get(propertyNearRegion)), LocalZoneGroup: optional(get(propertyNearGroup))}
	raw.GeoProximityLocation = near
	given := 0
	for _, name := range []string{propertyNearRegion, propertyNearGroup, propertyNearPlace} {
		if get(name) != "" {
			given++
		}
	}
	if given != 1 {
		return fmt.Errorf("geoproximity needs exactly one of the properties %s, %s and %s", propertyNearRegion, propertyNearGroup, propertyNearPlace)
	}
	if place := get(propertyNearPlace); place != "" {
		latitude, longitude, ok := strings.Cut(place, ",")
		near.Coordinates = &types.Coordinates{Latitude: aws.String(strings.TrimSpace(latitude)), Longitude: aws.String(strings.TrimSpace(longitude))}
		if !ok || !degrees(*near.Coordinates.Latitude, 90) || !degrees(*near.Coordinates.Longitude, 180) {
			return fmt.Errorf("the property %s is %q: give latitude and longitude, such as 49.22,-74.01", propertyNearPlace, place)
		}
	}
	bias, err := wholeNumber(propertyNearBias, cmp.Or(get(propertyNearBias), "0"), -maxBias, maxBias)
	near.Bias = aws.Int32(int32(bias))
	return err
}

func degrees(text string, most float64) bool {
	n, err := strconv.ParseFloat(text, 64)
	return err == nil && math.Abs(n) <= most
}

// optional returns a pointer to a text, or nil for an empty one.
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// routingOf returns the properties for the routing policy of a record set.
func routingOf(raw *types.ResourceRecordSet) []dns.Property {
	var list []dns.Property
	add := func(name, value string) {
		if value != "" {
			list = append(list, dns.Property{Name: name, Value: value})
		}
	}
	switch {
	case raw.CidrRoutingConfig != nil:
		add(propertyUnsupportedRouting, "cidr")
	case raw.TrafficPolicyInstanceId != nil:
		add(propertyUnsupportedRouting, "traffic-policy")
	case raw.Weight != nil:
		add(propertyWeight, strconv.FormatInt(*raw.Weight, 10))
	case raw.Region != "":
		add(propertyRegion, string(raw.Region))
	case raw.Failover != "":
		add(propertyFailover, string(raw.Failover))
	case aws.ToBool(raw.MultiValueAnswer):
		list = append(list, dns.Property{Name: propertyMultiValue})
	case raw.GeoLocation != nil:
		add(propertyContinent, aws.ToString(raw.GeoLocation.ContinentCode))
		add(propertyCountry, aws.ToString(raw.GeoLocation.CountryCode))
		add(propertySubdivision, aws.ToString(raw.GeoLocation.SubdivisionCode))
	case raw.GeoProximityLocation != nil:
		near := raw.GeoProximityLocation
		add(propertyNearRegion, aws.ToString(near.AWSRegion))
		add(propertyNearGroup, aws.ToString(near.LocalZoneGroup))
		if near.Coordinates != nil {
			add(propertyNearPlace, aws.ToString(near.Coordinates.Latitude)+","+aws.ToString(near.Coordinates.Longitude))
		}
		add(propertyNearBias, strconv.Itoa(int(aws.ToInt32(near.Bias))))
	}
	return list
}

// unsupportedRouting reports whether a record set has an unsupported routing policy.
func unsupportedRouting(raw *types.ResourceRecordSet) bool {
	return raw.CidrRoutingConfig != nil || raw.TrafficPolicyInstanceId != nil
}

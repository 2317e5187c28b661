package catalog

import (
	"fmt"
	"strconv"
	"strings"
)

// PortRange is an inclusive range of ports; a single port has Low == High.
type PortRange struct {
	Low, High uint16
}

// PortSet is a set of ports, as an unordered list of ranges that may overlap.
type PortSet []PortRange

// Has reports whether the port is in the set.
func (s PortSet) Has(port uint16) bool {
	for _, r := range s {
		if r.Low <= port && port <= r.High {
			return true
		}
	}
	return false
}

// ParsePortList reads the port lists of flags and annotations (spec/destination.md §1.1): items
// separated by commas, each a port, a range LO-HI or, when named is not nil, the name of a port.
// named returns the ports of a name, none when it is unknown. An item that is a name of a port
// is not read as a range.
//
// The set has the valid items; the errors describe the others.
func ParsePortList(list string, named func(name string) []uint16) (PortSet, []error) {
	list = strings.TrimSuffix(list, ",")
	if strings.TrimSpace(list) == "" {
		return nil, nil
	}
	var set PortSet
	var bad []error
	for item := range strings.SplitSeq(list, ",") {
		item = strings.TrimSpace(item)
		if named != nil {
			if ports := named(item); len(ports) > 0 {
				for _, p := range ports {
					set = append(set, PortRange{p, p})
				}
				continue
			}
		}
		r, ok := parsePortRange(item)
		switch {
		case ok:
			set = append(set, r)
		case named != nil:
			bad = append(bad, fmt.Errorf("%q is neither a port from 0 to 65535, nor a range LO-HI of such ports, nor the name of a port", item))
		default:
			bad = append(bad, fmt.Errorf("%q is neither a port from 0 to 65535 nor a range LO-HI of such ports", item))
		}
	}
	return set, bad
}

func parsePortRange(item string) (PortRange, bool) {
	low, high, isRange := strings.Cut(item, "-")
	if !isRange {
		high = low
	}
	l, errLow := strconv.ParseUint(low, 10, 16)
	h, errHigh := strconv.ParseUint(high, 10, 16)
	return PortRange{uint16(l), uint16(h)}, errLow == nil && errHigh == nil && h >= l
}

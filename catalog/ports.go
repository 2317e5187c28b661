package catalog

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
)

// PortRange is an inclusive range of ports; a single port has Low == High.
type PortRange struct {
	Low, High uint16
}

// PortSet is a set of ports: sorted ranges that neither overlap nor touch. Make it with [NewPortSet].
type PortSet []PortRange

// NewPortSet returns the union of the ranges. It reuses their memory.
func NewPortSet(ranges []PortRange) PortSet {
	if len(ranges) == 0 {
		return nil
	}
	slices.SortFunc(ranges, func(a, b PortRange) int { return cmp.Compare(a.Low, b.Low) })
	set := ranges[:1]
	for _, r := range ranges[1:] {
		last := &set[len(set)-1]
		if int(r.Low) > int(last.High)+1 {
			set = append(set, r)
			continue
		}
		last.High = max(last.High, r.High)
	}
	return set
}

// Has reports whether the port is in the set.
func (s PortSet) Has(port uint16) bool {
	_, ok := slices.BinarySearchFunc(s, port, func(r PortRange, port uint16) int {
		switch {
		case r.High < port:
			return -1
		case r.Low > port:
			return 1
		default:
			return 0
		}
	})
	return ok
}

func (s PortSet) with(ranges []PortRange) PortSet {
	if len(ranges) == 0 {
		return s
	}
	return NewPortSet(slices.Concat(s, ranges))
}

// PortItems returns the trimmed items of a port list of a flag or annotation (spec/destination.md §1.1).
func PortItems(list string) iter.Seq[string] {
	return func(yield func(string) bool) {
		list := strings.TrimSuffix(list, ",")
		if strings.TrimSpace(list) == "" {
			return
		}
		for item := range strings.SplitSeq(list, ",") {
			if !yield(strings.TrimSpace(item)) {
				return
			}
		}
	}
}

// ParsePortRange parses a port or a range LO-HI.
func ParsePortRange(item string) (PortRange, bool) {
	low, high, isRange := strings.Cut(item, "-")
	if !isRange {
		high = low
	}
	l, okLow := parsePort(low)
	h, okHigh := parsePort(high)
	return PortRange{l, h}, okLow && okHigh && h >= l
}

// parsePort parses a port, with any number of leading zeros.
func parsePort(text string) (uint16, bool) {
	if text == "" || text[0] < '0' || text[0] > '9' {
		return 0, false
	}
	if text = strings.TrimLeft(text, "0"); len(text) > len("65535") {
		return 0, false
	}
	if text == "" {
		return 0, true
	}
	n, err := strconv.ParseUint(text, 10, 16)
	return uint16(n), err == nil
}

// ParsePortList parses the port list of a flag. The set has the valid items; the errors describe the others.
func ParsePortList(list string) (PortSet, []error) {
	var ranges []PortRange
	var bad []error
	for item := range PortItems(list) {
		if r, ok := ParsePortRange(item); ok {
			ranges = append(ranges, r)
		} else {
			bad = append(bad, fmt.Errorf("%q is neither a port from 0 to 65535 nor a range LO-HI of such ports", item))
		}
	}
	return NewPortSet(ranges), bad
}

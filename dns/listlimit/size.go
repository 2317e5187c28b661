package listlimit

import "github.com/signpostd/signpost/dns"

// Go's overhead of a value in bytes: the value itself without its text, and its place in slices and
// maps.
const (
	setSize      = 192
	targetSize   = 32
	labelSize    = 64
	propertySize = 48
	// ZoneSize is the size of a zone without its ID and name.
	ZoneSize = 256
)

// SetSize returns the memory of a record set in bytes.
func SetSize(r *dns.RecordSet) int {
	if r == nil {
		return setSize
	}
	n := setSize + len(r.Name) + len(r.Type) + len(r.SetIdentifier)
	for _, t := range r.Targets {
		n += TargetSize(t)
	}
	for name, value := range r.Labels {
		n += labelSize + len(name) + len(value)
	}
	for _, p := range r.Properties {
		n += propertySize + len(p.Name) + len(p.Value)
	}
	return n
}

// EmptySetSize returns the memory of a record set without targets, in bytes.
func EmptySetSize(name string) int { return setSize + len(name) }

// TargetSize returns the memory of a target in bytes.
func TargetSize(target string) int { return targetSize + len(target) }

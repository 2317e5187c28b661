package listlimit

import "github.com/signpostd/signpost/dns"

// What Go needs for a value beside its text, in bytes: the value itself, and its place in the
// slices and maps that have it.
const (
	setSize      = 192
	targetSize   = 32
	labelSize    = 64
	propertySize = 48
	// ZoneSize is for a zone beside its ID and its name.
	ZoneSize = 256
)

// SetSize returns how many bytes of memory a record set needs.
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

// EmptySetSize returns how many bytes of memory a record set needs without targets.
func EmptySetSize(name string) int { return setSize + len(name) }

// TargetSize returns how many bytes of memory a target needs.
func TargetSize(target string) int { return targetSize + len(target) }

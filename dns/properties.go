package dns

import (
	"cmp"
	"slices"
	"strings"
)

// Alias is the value of the property alias. It says whether the provider resolves the target for
// address queries of the name, and for which types of addresses (spec/dns.md §1.6).
type Alias string

// Values of the property alias. Any other value counts as [AliasNone].
const (
	AliasNone  Alias = ""
	AliasTrue  Alias = "true"
	AliasFalse Alias = "false"
	AliasA     Alias = "A"
	AliasAAAA  Alias = "AAAA"
)

// For reports whether the value asks for an alias of a type, A or AAAA.
func (a Alias) For(recordType string) bool {
	switch recordType {
	case TypeA:
		return a == AliasTrue || a == AliasA
	case TypeAAAA:
		return a == AliasTrue || a == AliasAAAA
	default:
		return false
	}
}

// Alias returns the value of the property alias, or [AliasNone] if it is unknown or missing.
func (r *RecordSet) Alias() Alias {
	value, _ := r.Property(PropertyAlias)
	switch a := Alias(value); a {
	case AliasTrue, AliasFalse, AliasA, AliasAAAA:
		return a
	default:
		return AliasNone
	}
}

// BoolProperty reports whether the value of a property is "true", and whether the property exists.
func (r *RecordSet) BoolProperty(name string) (value, ok bool) {
	text, ok := r.Property(name)
	return text == "true", ok
}

// SetProperty sets a property. An existing property keeps its position. It changes r, which must
// not be shared yet, but makes a new slice of properties.
func (r *RecordSet) SetProperty(name, value string) {
	properties := slices.Clone(r.Properties)
	for i, p := range properties {
		if p.Name == name {
			properties[i].Value = value
			r.Properties = properties
			return
		}
	}
	r.Properties = append(properties, Property{Name: name, Value: value})
}

// DeleteProperty removes a property if the record set has it. It changes r as
// [RecordSet.SetProperty] does.
func (r *RecordSet) DeleteProperty(name string) {
	i := slices.IndexFunc(r.Properties, func(p Property) bool { return p.Name == name })
	if i >= 0 {
		r.Properties = slices.Concat(r.Properties[:i], r.Properties[i+1:])
	}
}

// SameProperties reports whether two lists have the same properties in any order. Each list must
// have a name only once.
func SameProperties(a, b []Property) bool {
	if len(a) != len(b) {
		return false
	}
	if slices.Equal(a, b) {
		return true
	}
	for _, p := range a {
		if !slices.Contains(b, p) {
			return false
		}
	}
	return true
}

// RetainProperties returns the properties that a provider reads: those without a slash in their
// names, and those with one of its prefixes. The empty prefix keeps all. The result is sorted by
// name. The argument isn't changed, and is returned if it equals the result.
func RetainProperties(properties []Property, prefixes []string) []Property {
	otherProvider := func(p Property) bool {
		return strings.Contains(p.Name, "/") && !slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(p.Name, prefix) })
	}
	byName := func(a, b Property) int { return cmp.Compare(a.Name, b.Name) }
	if !slices.ContainsFunc(properties, otherProvider) && slices.IsSortedFunc(properties, byName) {
		return properties
	}
	kept := slices.DeleteFunc(slices.Clone(properties), otherProvider)
	if len(kept) == 0 {
		return nil
	}
	slices.SortStableFunc(kept, byName)
	return kept
}

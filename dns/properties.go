package dns

import (
	"cmp"
	"slices"
	"strings"
)

// Alias says for which types of address a record set is to be an alias of its target at
// the provider (spec/dns.md §1.6).
type Alias string

// The values of the property alias. Others count as none.
const (
	AliasNone  Alias = ""
	AliasTrue  Alias = "true"
	AliasFalse Alias = "false"
	AliasA     Alias = "A"
	AliasAAAA  Alias = "AAAA"
)

// For reports whether there is to be an alias of a type, A or AAAA.
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

// Alias returns the value of the property alias, [AliasNone] if it has no known one.
func (r *RecordSet) Alias() Alias {
	value, _ := r.Property(PropertyAlias)
	switch a := Alias(value); a {
	case AliasTrue, AliasFalse, AliasA, AliasAAAA:
		return a
	default:
		return AliasNone
	}
}

// BoolProperty reports whether a property is there, and whether it is "true".
func (r *RecordSet) BoolProperty(name string) (value, ok bool) {
	text, ok := r.Property(name)
	return text == "true", ok
}

// SetProperty sets a property, in its place if it is there. It is for record sets that
// nobody else has yet: the properties are a new slice, the record set isn't.
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

// DeleteProperty removes a property if it is there, under the conditions of
// [RecordSet.SetProperty].
func (r *RecordSet) DeleteProperty(name string) {
	i := slices.IndexFunc(r.Properties, func(p Property) bool { return p.Name == name })
	if i >= 0 {
		r.Properties = slices.Concat(r.Properties[:i], r.Properties[i+1:])
	}
}

// SameProperties reports whether two lists hold the same properties, whatever their order.
// Names are unique in each.
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

// RetainProperties returns the properties that concern a provider, named as --provider
// does, sorted by name: those without a slash in their name, and those that begin with
// the provider's own prefix. The cloudflare provider keeps all, as its are named by whole
// keys of annotations. It returns the argument itself if that is what it is, and doesn't
// change it.
func RetainProperties(properties []Property, provider string) []Property {
	prefix := propertyPrefix(provider)
	foreign := func(p Property) bool {
		return provider != "cloudflare" && strings.Contains(p.Name, "/") && !strings.HasPrefix(p.Name, prefix)
	}
	byName := func(a, b Property) int { return cmp.Compare(a.Name, b.Name) }
	if !slices.ContainsFunc(properties, foreign) && slices.IsSortedFunc(properties, byName) {
		return properties
	}
	kept := slices.DeleteFunc(slices.Clone(properties), foreign)
	if len(kept) == 0 {
		return nil
	}
	slices.SortStableFunc(kept, byName)
	return kept
}

// propertyPrefix returns what the properties of a provider begin with. Some providers have
// several names, or another one in annotations (spec/dns.md §6.1).
func propertyPrefix(provider string) string {
	switch provider {
	case "azure-dns", "azure-private-dns":
		return "azure/"
	case "skydns":
		return "coredns/"
	case "scaleway":
		return "scw/"
	default:
		return provider + "/"
	}
}

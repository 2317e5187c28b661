package dns

import (
	"slices"
	"strings"
)

// Declaration is what a provider says of its properties: how their names begin, and which
// annotations of objects become properties.
type Declaration struct {
	// Prefix is what the names of all its properties begin with, such as "aws/".
	Prefix      string
	Annotations []Annotation
	// NamedByKey is true where ExternalDNS names the properties by the whole keys of their
	// annotations, with the prefix of the key. So the webhook protocol, DNSEndpoints and servers
	// of the connector name them, too.
	NamedByKey bool
}

// Annotation is an annotation that becomes a property. A * at the end of both names stands
// for any text that isn't empty.
type Annotation struct {
	// Name is the name without the prefix of the key, such as "aws-weight".
	Name string
	// Property is the name of the property, which begins with the prefix of its declaration.
	Property string
}

// Declarations are those of several providers. They must not be changed.
type Declarations []Declaration

// Property returns the name of the property that an annotation becomes; ok is false if it
// becomes none. The name of the annotation lacks the prefix of the key.
func (d Declarations) Property(annotation string) (property string, ok bool) {
	for _, declared := range d {
		for _, a := range declared.Annotations {
			if property, ok := renamed(annotation, a.Name, a.Property); ok {
				return property, true
			}
		}
	}
	return "", false
}

// Ours returns properties under our names that other programs may have named as ExternalDNS
// does. Prefixes are those of the keys of annotations, the first one counting most: if a property is
// there with several prefixes, the order of the properties doesn't matter. One under our name
// counts more than any of them.
func (d Declarations) Ours(properties []Property, prefixes []string) []Property {
	rank := func(name string) (string, int) {
		for i, prefix := range prefixes {
			if annotation, ok := strings.CutPrefix(name, prefix); ok {
				if ours, known := d.byKey().Property(annotation); known {
					return ours, i + 1
				}
				break
			}
		}
		return name, 0
	}
	list := renamedAll(properties, func(name string) (string, bool) {
		ours, from := rank(name)
		return ours, from > 0
	})
	if len(list) == 0 || &list[0] == &properties[0] {
		return list
	}
	best := make(map[string]int, len(list))
	for i, p := range list {
		_, from := rank(properties[i].Name)
		if other, twice := best[p.Name]; twice {
			if _, before := rank(properties[other].Name); before <= from {
				continue
			}
		}
		best[p.Name] = i
	}
	kept := list[:0]
	for i, p := range list {
		if best[p.Name] == i {
			kept = append(kept, p)
		}
	}
	return kept
}

// Theirs returns properties under the names that ExternalDNS has for them. Prefix is that of
// the keys of annotations.
func (d Declarations) Theirs(properties []Property, prefix string) []Property {
	return renamedAll(properties, func(name string) (string, bool) {
		for _, declared := range d.byKey() {
			for _, a := range declared.Annotations {
				if annotation, ok := renamed(name, a.Property, a.Name); ok {
					return prefix + annotation, true
				}
			}
		}
		return "", false
	})
}

// byKey returns the declarations whose properties have other names at ExternalDNS.
func (d Declarations) byKey() Declarations {
	return slices.DeleteFunc(slices.Clone(d), func(declared Declaration) bool { return !declared.NamedByKey })
}

// renamed returns the name to for the name from. Both patterns may end with *.
func renamed(name, from, to string) (string, bool) {
	begin, open := strings.CutSuffix(from, "*")
	if !open {
		return to, name == from
	}
	rest, ok := strings.CutPrefix(name, begin)
	return strings.TrimSuffix(to, "*") + rest, ok && rest != ""
}

// renamedAll returns properties with the names that a function returns, where it has others.
// It returns its argument if there are none.
func renamedAll(properties []Property, rename func(string) (string, bool)) []Property {
	list := properties
	for i, p := range properties {
		if name, ok := rename(p.Name); ok {
			if &list[0] == &properties[0] {
				list = slices.Clone(properties)
			}
			list[i].Name = name
		}
	}
	return list
}

package dns

import (
	"slices"
	"strings"
)

// Declaration declares the properties of a provider: the prefix of their names, and the annotations
// that become properties.
type Declaration struct {
	// Prefix is the prefix of the names of all its properties, such as "aws/".
	Prefix      string
	Annotations []Annotation
	// NamedByKey is true if ExternalDNS names the properties by the full keys of their annotations.
	// These names are then used in the webhook protocol, in DNSEndpoints and by servers of the
	// connector.
	NamedByKey bool
}

// Annotation is an annotation that becomes a property. A * at the end of both names stands for any
// text that isn't empty.
type Annotation struct {
	// Name is the key without its prefix, such as "aws-weight".
	Name string
	// Property is the name of the property, with the prefix of its declaration.
	Property string
}

// Declarations are the declarations of several providers. They must not be changed.
type Declarations []Declaration

// Property returns the property for an annotation, whose name is given without the prefix of the
// key. ok is false if there is none.
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

// Ours renames properties from ExternalDNS' names to ours. prefixes are those of annotation keys,
// in order of precedence: if a property has several names, the first prefix counts, and our own
// name counts most.
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

// Theirs renames properties from our names to those of ExternalDNS. prefix is that of annotation
// keys.
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

// byKey returns the declarations whose properties have other names in ExternalDNS.
func (d Declarations) byKey() Declarations {
	return slices.DeleteFunc(slices.Clone(d), func(declared Declaration) bool { return !declared.NamedByKey })
}

// renamed returns name with the pattern from replaced by the pattern to. Both patterns may end with
// *.
func renamed(name, from, to string) (string, bool) {
	begin, open := strings.CutSuffix(from, "*")
	if !open {
		return to, name == from
	}
	rest, ok := strings.CutPrefix(name, begin)
	return strings.TrimSuffix(to, "*") + rest, ok && rest != ""
}

// renamedAll renames properties for which rename returns a name. If there are none, it returns its
// argument.
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

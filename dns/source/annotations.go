package source

import (
	"cmp"
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns"
)

// Annotations are the values of an object's annotations about records (spec/dns.md §6.1). They
// are shared and must not be changed.
type Annotations struct {
	// Hostnames and InternalHostnames are names as they are written, without spaces. They may
	// end with a dot.
	Hostnames, InternalHostnames []string
	// Targets replace those that the object would have. There are none when the annotation is
	// missing or empty. They don't end with a dot.
	Targets []string
	// TTL is in seconds; zero is none.
	TTL int64
	// Access says which addresses a NodePort Service publishes: public, private, or anything
	// else.
	Access string
	// EndpointsType says which addresses a headless Service publishes: NodeExternalIP, HostIP,
	// or anything else.
	EndpointsType string
	// Ingress is the "name" or "namespace/name" of the Ingress whose addresses are the
	// targets.
	Ingress string
	// HostnameSource is the value of the annotation ingress-hostname-source, in lower case.
	HostnameSource string
	// SetIdentifier and Properties are settings for providers. Properties are sorted by name.
	SetIdentifier string
	Properties    []dns.Property
	// Problems are the values that can't be used. Their Object is empty.
	Problems []dns.Problem
}

// noAnnotations is shared by all objects without such annotations.
var noAnnotations = &Annotations{}

// annotation is an annotation about records: its key, and its name without the prefix.
type annotation struct {
	name, key, value string
	// rank is the position of its prefix.
	rank int
}

// ReadAnnotations reads those of an object. If an annotation is there with several prefixes, the
// first prefix counts. It never returns nil.
func (s Settings) ReadAnnotations(all map[string]string) *Annotations {
	var ours []annotation
	for key, value := range all {
		for rank, prefix := range s.Prefixes {
			if name, ok := strings.CutPrefix(key, prefix); ok {
				ours = append(ours, annotation{name: name, key: key, value: value, rank: rank})
				break
			}
		}
	}
	if len(ours) == 0 {
		return noAnnotations
	}
	slices.SortFunc(ours, func(a, b annotation) int {
		return cmp.Or(strings.Compare(a.name, b.name), cmp.Compare(a.rank, b.rank))
	})
	ours = slices.CompactFunc(ours, func(a, b annotation) bool { return a.name == b.name })
	read := &Annotations{}
	for _, a := range ours {
		read.add(a, s.Declared)
	}
	slices.SortFunc(read.Properties, func(a, b dns.Property) int { return strings.Compare(a.Name, b.Name) })
	return read
}

func (r *Annotations) add(a annotation, declared dns.Declarations) {
	switch a.name {
	case "hostname":
		r.Hostnames = SplitList(a.value)
	case "internal-hostname":
		r.InternalHostnames = SplitList(a.value)
	case "target":
		for _, target := range SplitList(a.value) {
			if target = strings.TrimSuffix(target, "."); target != "" {
				r.Targets = append(r.Targets, target)
			}
		}
	case "ttl":
		r.readTTL(a)
	case "access":
		r.Access = a.value
	case "endpoints-type":
		r.EndpointsType = a.value
	case "ingress":
		r.Ingress = a.value
	case "ingress-hostname-source":
		r.HostnameSource = strings.ToLower(a.value)
	case "set-identifier":
		r.SetIdentifier = a.value
	default:
		if p, ok := propertyOf(a, declared); ok {
			r.Properties = append(r.Properties, p)
		}
	}
}

func (r *Annotations) readTTL(a annotation) {
	ttl, err := dns.ParseTTL(a.value)
	if err != nil {
		r.Problems = append(r.Problems, dns.Problem{Subject: a.key, Value: a.value, Reason: err.Error() + "; none is used"})
	}
	r.TTL = ttl
}

// propertyOf returns the property for an annotation.
func propertyOf(a annotation, declared dns.Declarations) (dns.Property, bool) {
	switch a.name {
	case dns.PropertyAlias:
		// Any other value counts as none (spec/dns.md §1.6).
		known := []dns.Alias{dns.AliasTrue, dns.AliasA, dns.AliasAAAA}
		return dns.Property{Name: a.name, Value: a.value}, slices.Contains(known, dns.Alias(a.value))
	case dns.PropertyRecordType:
		return dns.Property{Name: a.name, Value: a.value}, true
	default:
		name, ok := declared.Property(a.name)
		return dns.Property{Name: name, Value: a.value}, ok
	}
}

// SplitList returns the elements of a list that is separated by commas, without spaces and
// without empty elements.
func SplitList(text string) []string {
	var list []string
	for element := range strings.SplitSeq(strings.ReplaceAll(text, " ", ""), ",") {
		if element != "" {
			list = append(list, element)
		}
	}
	return list
}

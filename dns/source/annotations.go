package source

import (
	"cmp"
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns"
)

// Annotations are the parsed annotations of an object about records (spec/dns.md §6.1). They are
// shared and must not be changed.
type Annotations struct {
	// Hostnames and InternalHostnames are the names as written, without spaces. They may end with a
	// dot.
	Hostnames, InternalHostnames []string
	// Targets replace the targets of the object; empty if the annotation is missing or empty. They
	// don't end with a dot.
	Targets []string
	// TTL is in seconds; zero means none.
	TTL int64
	// Access says which addresses a NodePort Service publishes: public, private, or another value.
	Access string
	// EndpointsType says which addresses a headless Service publishes: NodeExternalIP, HostIP, or
	// another value.
	EndpointsType string
	// Ingress is the "name" or "namespace/name" of the Ingress with the targets.
	Ingress string
	// HostnameSource is the value of the annotation ingress-hostname-source, in lower case.
	HostnameSource string
	// SetIdentifier and Properties are settings for providers. Properties are sorted by name.
	SetIdentifier string
	Properties    []dns.Property
	// Problems are the invalid values, without Object.
	Problems []dns.Problem
	// Remarks are hints about keys and values that look like a mistake, sorted by key and limited in
	// number.
	Remarks []Skip
}

// noAnnotations is shared by all objects without annotations about records.
var noAnnotations = &Annotations{}

// annotation is an annotation about records: its key, and the name without the prefix.
type annotation struct {
	name, key, value string
	// rank is the position of its prefix.
	rank int
}

// ReadAnnotations parses the annotations of an object. If an annotation exists with several
// prefixes, the first prefix counts. It never returns nil.
func (s Settings) ReadAnnotations(all map[string]string) *Annotations {
	var ours []annotation
	var strangers []string
	for key, value := range all {
		if name, rank, ok := s.splitKey(key); ok {
			ours = append(ours, annotation{name: name, key: key, value: value, rank: rank})
		} else if s.reader != nil && resemblesPrefix(key) {
			strangers = append(strangers, key)
		}
	}
	if len(ours)+len(strangers) == 0 {
		return noAnnotations
	}
	slices.SortFunc(ours, func(a, b annotation) int {
		return cmp.Or(strings.Compare(a.name, b.name), cmp.Compare(a.rank, b.rank))
	})
	ours = slices.CompactFunc(ours, func(a, b annotation) bool { return a.name == b.name })
	read := &Annotations{}
	for _, a := range ours {
		read.add(a, s.Declared)
		read.remarkKey(a, &s)
	}
	slices.Sort(strangers)
	for _, key := range strangers {
		read.remarkUnknownPrefix(key, &s)
	}
	slices.SortFunc(read.Properties, func(a, b dns.Property) int { return strings.Compare(a.Name, b.Name) })
	read.limitProperties()
	return read
}

// limitProperties drops the properties beyond PropertyLimit, with a problem.
func (r *Annotations) limitProperties() {
	n := len(r.Properties)
	if n <= PropertyLimit {
		return
	}
	r.Properties = slices.Clone(r.Properties[:PropertyLimit])
	r.Problems = append(r.Problems, dns.Problem{Subject: "annotations for providers", Reason: TooMany(n, PropertyLimit)})
}

// splitKey returns the name of an annotation about records and the position of its prefix.
func (s *Settings) splitKey(key string) (name string, rank int, ok bool) {
	for rank, prefix := range s.Prefixes {
		if name, ok := strings.CutPrefix(key, prefix); ok {
			return name, rank, true
		}
	}
	return "", 0, false
}

func (r *Annotations) add(a annotation, declared dns.Declarations) {
	if kind := kindOfAnnotation(a.name); kind != nil {
		if kind.read != nil {
			kind.read(r, a)
		}
		return
	}
	if name, ok := declared.Property(a.name); ok {
		r.Properties = append(r.Properties, dns.Property{Name: name, Value: a.value})
	}
}

func (r *Annotations) readTTL(a annotation) {
	ttl, err := dns.ParseTTL(a.value)
	if err != nil {
		r.Problems = append(r.Problems, dns.Problem{Subject: a.key, Value: a.value, Reason: err.Error() + "; none is used"})
	}
	r.TTL = ttl
}

// SplitList returns the elements of a comma-separated list, without spaces and empty elements.
func SplitList(text string) []string {
	var list []string
	for element := range strings.SplitSeq(strings.ReplaceAll(text, " ", ""), ",") {
		if element != "" {
			list = append(list, element)
		}
	}
	return list
}

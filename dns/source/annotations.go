package source

import (
	"cmp"
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns"
)

// Annotations are what the annotations of an object say about records (spec/dns.md §6.1).
// Values are shared and must not be changed.
type Annotations struct {
	// Hostnames and InternalHostnames are names as written, without spaces; they may end with a dot.
	Hostnames, InternalHostnames []string
	// Targets take the place of those that the object would have; none when the annotation is
	// absent or empty. They don't end with a dot.
	Targets []string
	// TTL is in seconds; zero is none.
	TTL int64
	// Access is what service NodePort publishes: public, private, or anything else.
	Access string
	// EndpointsType is what a headless service publishes: NodeExternalIP, HostIP, or
	// anything else.
	EndpointsType string
	// Ingress is "name" or "namespace/name" of the Ingress that has the targets.
	Ingress string
	// HostnameSource is the annotation ingress-hostname-source, in lower case.
	HostnameSource string
	// SetIdentifier and Properties are for providers. Properties are sorted by name.
	SetIdentifier string
	Properties    []dns.Property
	// Problems are values that can't be used. Their Object is zero.
	Problems []dns.Problem
}

// noAnnotations is shared by all objects without any that count.
var noAnnotations = &Annotations{}

// annotation is one of ours: its name, and its key with the prefix.
type annotation struct {
	name, key, value string
	// rank is which prefix it has.
	rank int
}

// ReadAnnotations reads the annotations under prefixes, of which the first counts where
// there are several of a name. It never returns nil.
func ReadAnnotations(all map[string]string, prefixes []string) *Annotations {
	var ours []annotation
	for key, value := range all {
		for rank, prefix := range prefixes {
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
		read.add(a)
	}
	slices.SortFunc(read.Properties, func(a, b dns.Property) int { return strings.Compare(a.Name, b.Name) })
	return read
}

func (r *Annotations) add(a annotation) {
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
		if p, ok := propertyOf(a); ok {
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

// cloudflareNames are the annotations for Cloudflare, whose properties have the whole key.
var cloudflareNames = []string{
	"cloudflare-proxied", "cloudflare-custom-hostname", "cloudflare-region-key", "cloudflare-record-comment", "cloudflare-tags",
}

// propertyOf returns the property that an annotation stands for.
func propertyOf(a annotation) (dns.Property, bool) {
	switch {
	case a.name == dns.PropertyAlias:
		// Any other value is as good as none (spec/dns.md §1.6).
		known := []dns.Alias{dns.AliasTrue, dns.AliasA, dns.AliasAAAA}
		return dns.Property{Name: a.name, Value: a.value}, slices.Contains(known, dns.Alias(a.value))
	case a.name == dns.PropertyRecordType:
		return dns.Property{Name: a.name, Value: a.value}, true
	case a.name == "azure-tags":
		return dns.Property{Name: "azure/tags", Value: a.value}, true
	case slices.Contains(cloudflareNames, a.name):
		return dns.Property{Name: a.key, Value: a.value}, true
	}
	for _, provider := range []string{"aws", "scw", "webhook", "coredns"} {
		if name, ok := strings.CutPrefix(a.name, provider+"-"); ok && name != "" {
			return dns.Property{Name: provider + "/" + name, Value: a.value}, true
		}
	}
	return dns.Property{}, false
}

// SplitList returns the elements of a list with commas, without any spaces; it drops
// empty ones.
func SplitList(text string) []string {
	var list []string
	for element := range strings.SplitSeq(strings.ReplaceAll(text, " ", ""), ",") {
		if element != "" {
			list = append(list, element)
		}
	}
	return list
}

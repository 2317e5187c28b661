package source

import (
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns"
)

// The names of annotations about records, without the prefix of the key.
const (
	AnnotationHostname              = "hostname"
	AnnotationInternalHostname      = "internal-hostname"
	AnnotationTarget                = "target"
	AnnotationTTL                   = "ttl"
	AnnotationController            = "controller"
	AnnotationAccess                = "access"
	AnnotationEndpointsType         = "endpoints-type"
	AnnotationIngress               = "ingress"
	AnnotationIngressHostnameSource = "ingress-hostname-source"
	AnnotationGatewayHostnameSource = "gateway-hostname-source"
	AnnotationSetIdentifier         = "set-identifier"
	AnnotationAlias                 = dns.PropertyAlias
	AnnotationRecordType            = dns.PropertyRecordType
)

// CommonAnnotations are those that every source with names of its own reads, for
// [Plugin].Annotations.
var CommonAnnotations = []string{AnnotationHostname, AnnotationTarget, AnnotationTTL, AnnotationController}

// AnnotationKind describes an annotation about records. Which sources read it, their plugins say.
type AnnotationKind struct {
	// Name is the key without the prefix.
	Name string
	// Values says in a few words what it may be set to.
	Values string
	// Purpose says in a sentence what it is for, without a full stop.
	Purpose string
	// Example is a value.
	Example string
	// read sets what the annotation says. It is nil for one that a source, or the choice of
	// objects, reads for itself.
	read func(*Annotations, annotation)
}

// annotationKinds has all annotations about records but those that become properties of a
// provider (spec/dns.md §6.1).
var annotationKinds = []AnnotationKind{
	{
		Name: AnnotationHostname, Values: "names with commas between them", Example: "www.example.org,example.org",
		Purpose: "the names of the records",
		read: func(r *Annotations, a annotation) {
			r.Hostnames = SplitList(a.value)
			r.remarkSpaces(a)
		},
	},
	{
		Name: AnnotationInternalHostname, Values: "names with commas between them", Example: "shop.internal.example.org",
		Purpose: "the names of records that point to addresses inside of the cluster",
		read: func(r *Annotations, a annotation) {
			r.InternalHostnames = SplitList(a.value)
			r.remarkSpaces(a)
		},
	},
	{
		Name: AnnotationTarget, Values: "addresses and names with commas between them", Example: "192.0.2.1",
		Purpose: "what the records point to, instead of the object's own addresses",
		read: func(r *Annotations, a annotation) {
			for _, target := range SplitList(a.value) {
				if target = strings.TrimSuffix(target, "."); target != "" {
					r.Targets = append(r.Targets, target)
				}
			}
			r.remarkSpaces(a)
		},
	},
	{
		Name: AnnotationTTL, Values: "seconds from 1 to 2147483647, or a duration such as 5m", Example: "60",
		Purpose: "the TTL of the records",
		read:    (*Annotations).readTTL,
	},
	{
		Name: AnnotationController, Values: "dns-controller, or anything else", Example: "dns-controller",
		Purpose: "with another value than dns-controller the object is left to another program, and gives no record",
	},
	{
		Name: AnnotationAccess, Values: "public or private", Example: "public",
		Purpose: "which addresses of nodes a Service of type NodePort publishes; without it the external ones, if there are any",
		read:    func(r *Annotations, a annotation) { r.Access = a.value },
	},
	{
		Name: AnnotationEndpointsType, Values: "NodeExternalIP or HostIP", Example: "HostIP",
		Purpose: "which addresses a headless Service publishes for its pods, instead of their own",
		read:    func(r *Annotations, a annotation) { r.EndpointsType = a.value },
	},
	{
		Name: AnnotationIngress, Values: "name or namespace/name of an Ingress", Example: "istio-system/public",
		Purpose: "the Ingress whose addresses the records point to",
		read:    func(r *Annotations, a annotation) { r.Ingress = a.value },
	},
	{
		Name: AnnotationIngressHostnameSource, Values: "defined-hosts-only or annotation-only", Example: "annotation-only",
		Purpose: "whether the names come from the spec of the Ingress or from its annotation hostname; without it from both",
		read:    func(r *Annotations, a annotation) { r.HostnameSource = strings.ToLower(a.value) },
	},
	{
		Name: AnnotationGatewayHostnameSource, Values: "defined-hosts-only or annotation-only", Example: "annotation-only",
		Purpose: "whether the names come from the spec of the route or from its annotation hostname; without it from both",
	},
	{
		Name: AnnotationSetIdentifier, Values: "a text", Example: "blue",
		Purpose: "tells record sets of one name and type apart, where the provider has several",
		read:    func(r *Annotations, a annotation) { r.SetIdentifier = a.value },
	},
	{
		Name: AnnotationAlias, Values: "true, A or AAAA", Example: "true",
		Purpose: "makes an alias of the provider instead of a CNAME record, where the provider has them",
		read: func(r *Annotations, a annotation) {
			// Any other value counts as none (spec/dns.md §1.6).
			if known := []dns.Alias{dns.AliasTrue, dns.AliasA, dns.AliasAAAA}; slices.Contains(known, dns.Alias(a.value)) {
				r.Properties = append(r.Properties, dns.Property{Name: a.name, Value: a.value})
			}
		},
	},
	{
		Name: AnnotationRecordType, Values: "ptr, or empty", Example: "ptr",
		Purpose: "makes PTR records for the addresses of the records too, or none where --create-ptr makes them for all",
		read: func(r *Annotations, a annotation) {
			r.Properties = append(r.Properties, dns.Property{Name: a.name, Value: a.value})
		},
	},
}

// AnnotationKinds returns all annotations about records but those that become properties of a
// provider, in the order of the documentation.
func AnnotationKinds() []AnnotationKind { return slices.Clone(annotationKinds) }

// kindOfAnnotation returns the annotation with a name; nil if there is none.
func kindOfAnnotation(name string) *AnnotationKind {
	for i := range annotationKinds {
		if annotationKinds[i].Name == name {
			return &annotationKinds[i]
		}
	}
	return nil
}

// forProviders reports whether an annotation is read with [Plugin].Properties.
func forProviders(name string) bool {
	return slices.Contains([]string{AnnotationSetIdentifier, AnnotationAlias, AnnotationRecordType}, name)
}

// AnnotationNames returns the names of the annotations that a source reads, but those that become
// properties of a provider.
func (p Plugin) AnnotationNames() []string {
	names := slices.Clone(p.Annotations)
	for _, kind := range annotationKinds {
		if p.Properties && forProviders(kind.Name) {
			names = append(names, kind.Name)
		}
	}
	return names
}

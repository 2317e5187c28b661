package source

import (
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns"
)

// Names of annotations about records, without the prefix of the key.
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

// CommonAnnotations are the annotations of every source with names of its own, for
// [Plugin].Annotations.
var CommonAnnotations = []string{AnnotationHostname, AnnotationTarget, AnnotationTTL, AnnotationController}

// NoAnnotations is the [Plugin].Annotations of a source that reads no annotations.
var NoAnnotations = []string{}

// AnnotationKind describes an annotation about records. Plugins say which sources read it.
type AnnotationKind struct {
	// Name is the key without the prefix.
	Name string
	// Values describes the allowed values.
	Values string
	// Purpose describes the annotation in a sentence without a full stop.
	Purpose string
	// Example is a value.
	Example string
	// read stores the value of the annotation. It is nil if a source, or the selection of objects,
	// reads the annotation itself.
	read func(*Annotations, annotation)
}

// AnnotationKinds are all annotations about records in the order of the documentation, except those
// that become properties of a provider (spec/dns.md §6.1). They are never changed.
var AnnotationKinds = []AnnotationKind{
	{
		Name: AnnotationHostname, Values: "names, separated by commas; spaces are removed. --ignore-hostname-annotation turns it off, except for pod", Example: "www.example.org,example.org",
		Purpose: "the names of the records",
		read: func(r *Annotations, a annotation) {
			r.Hostnames = SplitList(a.value)
			r.remarkSpaces(a)
		},
	},
	{
		Name: AnnotationInternalHostname, Values: "names, separated by commas", Example: "shop.internal.example.org",
		Purpose: "names for addresses inside of the cluster: the cluster IP of a Service of type LoadBalancer or ClusterIP, the IP of a Pod",
		read: func(r *Annotations, a annotation) {
			r.InternalHostnames = SplitList(a.value)
			r.remarkSpaces(a)
		},
	},
	{
		Name: AnnotationTarget, Values: "addresses or names, separated by commas. IPv4 addresses make an A record, IPv6 addresses AAAA, names CNAME; a CNAME beside addresses is left out. An empty value counts as absent", Example: "192.0.2.7,2001:db8::7",
		Purpose: "what the records point to, instead of the targets that the object has",
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
		Name: AnnotationTTL, Values: "seconds, or a duration such as 5m or 1h30m; 1 to 2147483647 seconds. A wrong value is ignored, with an Event RecordInvalid", Example: "300",
		Purpose: "the TTL of the records",
		read:    (*Annotations).readTTL,
	},
	{
		Name: AnnotationController, Values: "dns-controller, or the name of another program", Example: "dns-controller",
		Purpose: "any value but dns-controller leaves the object to another program: Signpost ignores it",
	},
	{
		Name: AnnotationAccess, Values: "public for the ExternalIPs of the nodes, private for their InternalIPs", Example: "public",
		Purpose: "which addresses a Service of type NodePort publishes; without it ExternalIPs, or InternalIPs if no node has an ExternalIP",
		read:    func(r *Annotations, a annotation) { r.Access = a.value },
	},
	{
		Name: AnnotationEndpointsType, Values: "NodeExternalIP for the ExternalIPs of the nodes of the pods, HostIP for the host IPs of the pods", Example: "HostIP",
		Purpose: "which addresses a headless Service publishes; without it the IPs of the pods",
		read:    func(r *Annotations, a annotation) { r.EndpointsType = a.value },
	},
	{
		Name: AnnotationIngress, Values: "the name of an Ingress, or namespace/name", Example: "istio-system/public",
		Purpose: "the Ingress whose addresses become the targets",
		read:    func(r *Annotations, a annotation) { r.Ingress = a.value },
	},
	{
		Name: AnnotationIngressHostnameSource, Values: "defined-hosts-only for names from the spec only, annotation-only for names from hostname only; with any other value the Ingress has no names", Example: "annotation-only",
		Purpose: "where the names of an Ingress come from; without it from both",
		read:    func(r *Annotations, a annotation) { r.HostnameSource = strings.ToLower(a.value) },
	},
	{
		Name: AnnotationGatewayHostnameSource, Values: "defined-hosts-only or annotation-only; any other value is ignored, with an Event RecordInvalid", Example: "defined-hosts-only",
		Purpose: "where the names of a route come from; without it from both",
	},
	{
		Name: AnnotationSetIdentifier, Values: "a text", Example: "blue",
		Purpose: "tells apart several record sets of one name and type, for providers that have these",
		read:    func(r *Annotations, a annotation) { r.SetIdentifier = a.value },
	},
	{
		Name: AnnotationAlias, Values: "true, A or AAAA; other values are ignored", Example: "true",
		Purpose: "make an alias of the target, if the provider has aliases. pdns makes an ALIAS record of a CNAME with true",
		read: func(r *Annotations, a annotation) {
			// Any other value means none (spec/dns.md §1.6).
			if known := []dns.Alias{dns.AliasTrue, dns.AliasA, dns.AliasAAAA}; slices.Contains(known, dns.Alias(a.value)) {
				r.Properties = append(r.Properties, dns.Property{Name: a.name, Value: a.value})
			}
		},
	},
	{
		Name: AnnotationRecordType, Values: "ptr, or anything else", Example: "ptr",
		Purpose: "ptr also publishes PTR records for the addresses, any other value none, even with --create-ptr. PTR must be among --managed-record-types",
		read: func(r *Annotations, a annotation) {
			r.Properties = append(r.Properties, dns.Property{Name: a.name, Value: a.value})
		},
	},
}

func kindOfAnnotation(name string) *AnnotationKind {
	for i := range AnnotationKinds {
		if AnnotationKinds[i].Name == name {
			return &AnnotationKinds[i]
		}
	}
	return nil
}

// reads reports whether a source reads an annotation that isn't for providers.
func (p Plugin) reads(annotation string) bool { return slices.Contains(p.Annotations, annotation) }

// AnnotationNames returns the annotations that a source reads, except those that become properties
// of a provider.
func (p Plugin) AnnotationNames() []string {
	if !p.Properties {
		return p.Annotations
	}
	return append(slices.Clone(p.Annotations), AnnotationSetIdentifier, AnnotationAlias, AnnotationRecordType)
}

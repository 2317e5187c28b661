package properties

import "github.com/signpostd/signpost/dns"

// Known returns the declarations of all providers of ExternalDNS that have properties.
func Known() dns.Declarations {
	return dns.Declarations{AWS(), Azure(), Cloudflare(), CoreDNS(), open("scw"), Webhook()}
}

// AWS declares the properties of Route 53 and of Cloud Map.
func AWS() dns.Declaration { return open("aws") }

// Azure declares the properties of Azure DNS, public and private. The provider reads others from
// tags, such as azure/metadata-keys.
func Azure() dns.Declaration {
	return dns.Declaration{Prefix: "azure/", Annotations: []dns.Annotation{{Name: "azure-tags", Property: "azure/tags"}}}
}

// Cloudflare declares the properties of Cloudflare.
func Cloudflare() dns.Declaration {
	d := dns.Declaration{Prefix: "cloudflare/", NamedByKey: true}
	for _, name := range []string{"proxied", "custom-hostname", "region-key", "record-comment", "tags"} {
		d.Annotations = append(d.Annotations, dns.Annotation{Name: "cloudflare-" + name, Property: d.Prefix + name})
	}
	return d
}

// CoreDNS declares the properties of CoreDNS and SkyDNS.
func CoreDNS() dns.Declaration { return open("coredns") }

// Webhook declares the properties of programs that serve the webhook protocol.
func Webhook() dns.Declaration { return open("webhook") }

// open declares a provider that takes every annotation with a name and a dash as the prefix; the
// rest is the name of the property.
func open(name string) dns.Declaration {
	return dns.Declaration{
		Prefix: name + "/", Annotations: []dns.Annotation{{Name: name + "-*", Property: name + "/*"}},
	}
}

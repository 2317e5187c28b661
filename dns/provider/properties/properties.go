package properties

import "github.com/signpostd/signpost/dns"

// Known returns the declarations of all providers of ExternalDNS that have properties.
func Known() dns.Declarations {
	return dns.Declarations{AWS(), Azure(), Cloudflare(), CoreDNS(), Scaleway(), Webhook()}
}

// open declares a provider that takes every annotation with a name and a dash as the prefix; the
// rest is the name of the property.
func open(name string) dns.Declaration {
	return dns.Declaration{
		Prefix: name + "/", Annotations: []dns.Annotation{{Name: name + "-*", Property: name + "/*"}},
	}
}

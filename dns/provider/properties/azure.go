package properties

import "github.com/signpostd/signpost/dns"

// Azure declares the properties of Azure DNS, public and private. The provider reads others from
// tags, such as azure/metadata-keys.
func Azure() dns.Declaration {
	return dns.Declaration{Prefix: "azure/", Annotations: []dns.Annotation{{Name: "azure-tags", Property: "azure/tags"}}}
}

package properties

import "github.com/signpostd/signpost/dns"

// Cloudflare declares the properties of Cloudflare.
func Cloudflare() dns.Declaration {
	return dns.Declaration{
		Prefix: "cloudflare/", NamedByKey: true,
		Annotations: []dns.Annotation{
			{Name: "cloudflare-proxied", Property: "cloudflare/proxied"},
			{Name: "cloudflare-custom-hostname", Property: "cloudflare/custom-hostname"},
			{Name: "cloudflare-region-key", Property: "cloudflare/region-key"},
			{Name: "cloudflare-record-comment", Property: "cloudflare/record-comment"},
			{Name: "cloudflare-tags", Property: "cloudflare/tags"},
		},
	}
}

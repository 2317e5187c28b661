// Package hetzner describes the module of libdns for the DNS of Hetzner Cloud.
//
// # Concurrency
//
// The functions are pure.
package hetzner

import (
	"github.com/libdns/hetzner/v2"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider/libdns/module"
)

// Module describes the module. It removes all quotes from the ends of a text that it reads. Texts
// that begin or end with a quote are therefore refused.
func Module() module.Module {
	return module.Module{
		Name:      "hetzner",
		New:       func() module.Client { return new(hetzner.Provider) },
		Required:  []string{"api_token"},
		Types:     []string{dns.TypeA, dns.TypeAAAA, dns.TypeCNAME, dns.TypeTXT, dns.TypeMX, dns.TypeSRV, dns.TypeNS},
		TTL:       module.AtLeast(60),
		Replacing: module.ReplacingWithGap,
		Texts:     module.QuotedTexts,
	}
}

// Package digitalocean describes the module of libdns for the DNS of DigitalOcean.
//
// # Concurrency
//
// The functions are pure.
package digitalocean

import (
	"github.com/libdns/digitalocean"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider/libdns/module"
)

// Module describes the module. It can't list zones, and loses the priority of MX and SRV records.
// Its SetRecords needs identifiers that only records have that were read.
func Module() module.Module {
	return module.Module{
		Name:     "digitalocean",
		New:      func() module.Client { return new(digitalocean.Provider) },
		Required: []string{"auth_token"},
		Types:    []string{dns.TypeA, dns.TypeAAAA, dns.TypeCNAME, dns.TypeTXT, dns.TypeNS},
		TTL:      module.AtLeast(30),
		Setting:  module.SetsNothing,
	}
}

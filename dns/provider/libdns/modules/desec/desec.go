// Package desec describes the module of libdns for deSEC (desec.io).
//
// # Concurrency
//
// The functions are pure.
package desec

import (
	"github.com/libdns/desec"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider/libdns/module"
)

// Module describes the module. It raises TTLs to an hour, the minimum of most deSEC accounts, and
// reads at most 500 record sets of a zone.
func Module() module.Module {
	return module.Module{
		Name:      "desec",
		New:       func() module.Client { return new(desec.Provider) },
		Required:  []string{"token"},
		Types:     []string{dns.TypeA, dns.TypeAAAA, dns.TypeCNAME, dns.TypeTXT, dns.TypeMX, dns.TypeSRV, dns.TypeNS, dns.TypePTR, dns.TypeDNAME},
		TTL:       module.AtLeast(3600),
		Replacing: module.ReplacingAtOnce,
	}
}

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

// Module describes the module. It raises each TTL to an hour, the least that deSEC has for most
// accounts, and it reads zones of up to 500 record sets.
func Module() module.Module {
	return module.Module{
		Name:     "desec",
		New:      func() module.Client { return new(desec.Provider) },
		Required: []string{"token"},
		Types:    []string{dns.TypeA, dns.TypeAAAA, dns.TypeCNAME, dns.TypeTXT, dns.TypeMX, dns.TypeSRV, dns.TypeNS, dns.TypePTR, dns.TypeDNAME},
		TTL:      module.AtLeast(3600),
		Setting:  module.SetsAtOnce,
	}
}

// Package cloudns describes the module of libdns for ClouDNS.
//
// # Concurrency
//
// The functions are pure.
package cloudns

import (
	"net/http"
	"path"

	"github.com/libdns/cloudns"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider/libdns/module"
)

// Module describes the module. Its SetRecords updates one record after the other, which fails if
// another record still has the new value.
func Module() module.Module {
	return module.Module{
		Name:      "cloudns",
		New:       func() module.Client { return new(cloudns.Provider) },
		Required:  []string{"auth_id|sub_auth_id|sub_auth_user", "auth_password"},
		Types:     []string{dns.TypeA, dns.TypeAAAA, dns.TypeCNAME, dns.TypeTXT, dns.TypeMX, dns.TypeSRV, dns.TypeNS},
		TTL:       ttl,
		Replacing: module.NotReplacing,
		Hosts:     module.BareHosts,
		Denied:    "Invalid authentication",
		Reads:     reads,
	}
}

// reads reports whether a request changes nothing. All requests are POST, so that no password is
// in a URL.
func reads(req *http.Request) bool {
	switch path.Base(req.URL.Path) {
	case "records.json", "list-zones.json":
		return true
	default:
		return false
	}
}

// ttls are the TTLs that ClouDNS supports (https://www.cloudns.net/wiki/article/58/).
var ttls = []int64{60, 300, 900, 1800, 3600, 21600, 43200, 86400, 172800, 259200, 604800, 1209600, 2592000}

// ttl returns the next larger supported TTL, or the largest one, like the module.
func ttl(seconds int64) int64 {
	for _, t := range ttls {
		if seconds <= t {
			return t
		}
	}
	return ttls[len(ttls)-1]
}

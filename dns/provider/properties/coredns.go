package properties

import "github.com/signpostd/signpost/dns"

// CoreDNS declares the properties of CoreDNS and SkyDNS.
func CoreDNS() dns.Declaration { return open("coredns") }

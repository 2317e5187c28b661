package properties

import "github.com/signpostd/signpost/dns"

// Scaleway declares the properties of Scaleway.
func Scaleway() dns.Declaration { return open("scw") }

package properties

import "github.com/signpostd/signpost/dns"

// AWS declares the properties of Route 53 and of Cloud Map.
func AWS() dns.Declaration { return open("aws") }

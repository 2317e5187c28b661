// Package modules lists the modules of libdns that are part of the binary. A line less in [All],
// and its import, leaves one out.
//
// A module is in the list if its contract test passes (moduletest): what it appends, sets and
// deletes of every type comes back as it was written, in front of a server that behaves as its
// service does. docs/dns/libdns.md says which other modules were looked at, and what keeps them
// out.
//
// # Concurrency
//
// The functions are pure.
package modules

import (
	"github.com/signpostd/signpost/dns/provider/libdns/module"
	"github.com/signpostd/signpost/dns/provider/libdns/modules/cloudns"
	"github.com/signpostd/signpost/dns/provider/libdns/modules/desec"
	"github.com/signpostd/signpost/dns/provider/libdns/modules/hetzner"
)

// All returns all modules, by name.
func All() []module.Module {
	return []module.Module{
		cloudns.Module(),
		desec.Module(),
		hetzner.Module(),
	}
}

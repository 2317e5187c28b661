// Package modules lists the modules of libdns that are part of the binary. To leave out a module,
// delete its line in [All] and its import.
//
// A module is in the list if its contract test passes (moduletest): with a fake of its service, it
// lists records of every type as they were appended, set and deleted. docs/dns/libdns.md has the
// modules that were left out, with the reasons.
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

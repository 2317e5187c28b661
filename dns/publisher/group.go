package publisher

import "github.com/signpostd/signpost/dns"

// group is the changes under one name. A provider gets all of them in one call.
type group struct {
	name    string
	changes []dns.Change
	// orphans are deletions of markers that describe nothing.
	orphans []dns.Change
}

// size returns the number of changes.
func (g group) size() int { return len(g.changes) + len(g.orphans) }

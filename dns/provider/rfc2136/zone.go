package rfc2136

import (
	"sync"
	"time"

	"github.com/signpostd/signpost/dns"
)

// trust is how long an unchanged serial number may replace a transfer.
const trust = 10 * time.Minute

// zone is a zone, and what is known of it.
type zone struct {
	dns.Zone
	// full is the name with a final dot.
	full string

	mu sync.Mutex
	// updates is the number of updates that were sent.
	updates int
	last    *listing
}

// listing is the result of a transfer.
type listing struct {
	server string
	serial uint32
	at     time.Time
	sets   []*dns.RecordSet
}

// remembered returns the last listing from a server, or nil if it is too old.
func (z *zone) remembered(server string, now time.Time) *listing {
	z.mu.Lock()
	defer z.mu.Unlock()
	if z.last == nil || z.last.server != server || now.Sub(z.last.at) >= trust {
		return nil
	}
	return z.last
}

// forget drops the listing, before an update is sent.
func (z *zone) forget() {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.updates++
	z.last = nil
}

// doubt drops the listing of a failed server.
func (z *zone) doubt(server string) {
	z.mu.Lock()
	defer z.mu.Unlock()
	if z.last != nil && z.last.server == server {
		z.last = nil
	}
}

func (z *zone) sent() int {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.updates
}

// remember keeps a listing, unless an update was sent since its transfer began.
func (z *zone) remember(l *listing, sent int) {
	z.mu.Lock()
	defer z.mu.Unlock()
	if z.updates == sent {
		z.last = l
	}
}

package listlimit

import (
	"cmp"
	"errors"
	"fmt"
)

// ErrExceeded is wrapped by every error about a listing that is too large or that does not end.
var ErrExceeded = errors.New("the listing exceeds a limit")

// The defaults of [Limits]. Amazon Route 53, Google Cloud DNS and Azure DNS allow 10,000 record
// sets in a zone unless the quota is raised.
const (
	DefaultZoneRecords = 250_000
	DefaultRecords     = 500_000
	DefaultZones       = 50_000
)

// averageSize is how many bytes of memory a record set may have on average: its name, targets and
// labels, what Go needs to keep them, and the form in which the provider keeps it, too.
const averageSize = 400

// Limits are the most that is read of a provider. Zero stands for the default.
type Limits struct {
	// ZoneRecords is the most record sets of a zone, and Records that of all zones together. Each
	// also limits the memory, to 400 bytes times the number.
	ZoneRecords, Records int
	// Zones is the most zones that a provider may list, managed or not.
	Zones int
}

// Check returns an error that names the flag of a limit that can't be.
func (l Limits) Check() error {
	for _, limit := range []struct {
		flag  string
		value int
	}{{"max-zone-records", l.ZoneRecords}, {"max-records", l.Records}, {"max-zones", l.Zones}} {
		if limit.value < 1 {
			return fmt.Errorf("--%s=%d: must be 1 or more", limit.flag, limit.value)
		}
	}
	return nil
}

// filled returns the limits with the defaults for those that are zero.
func (l Limits) filled() Limits {
	return Limits{
		ZoneRecords: cmp.Or(l.ZoneRecords, DefaultZoneRecords),
		Records:     cmp.Or(l.Records, DefaultRecords),
		Zones:       cmp.Or(l.Zones, DefaultZones),
	}
}

// usage is how much a listing has, or may have.
type usage struct{ records, bytes int }

func (u usage) plus(o usage) usage { return usage{u.records + o.records, u.bytes + o.bytes} }

func (u usage) minus(o usage) usage { return usage{u.records - o.records, u.bytes - o.bytes} }

// above returns what u has more than o, and nothing of what it has less.
func (u usage) above(o usage) usage {
	return usage{max(u.records-o.records, 0), max(u.bytes-o.bytes, 0)}
}

func (u usage) fits(most usage) bool { return u.records <= most.records && u.bytes <= most.bytes }

func mostOf(records int) usage { return usage{records, records * averageSize} }

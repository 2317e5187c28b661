package listlimit

import (
	"cmp"
	"errors"
	"fmt"
)

// ErrExceeded is wrapped by every error about a listing that is too large or endless.
var ErrExceeded = errors.New("the listing exceeds a limit")

// Defaults of [Limits]. Amazon Route 53, Google Cloud DNS and Azure DNS allow 10,000 record sets in
// a zone unless the quota is raised.
const (
	DefaultZoneRecords = 250_000
	DefaultRecords     = 500_000
	DefaultZones       = 50_000
)

// averageSize is the assumed average memory of a record set in bytes: name, targets and labels,
// Go's overhead, and the provider's own copy.
const averageSize = 400

// Limits are the limits of one provider. Zero means the default.
type Limits struct {
	// ZoneRecords limits the record sets of a zone, and Records those of all zones together. Each also
	// limits the memory, to 400 bytes times the number.
	ZoneRecords, Records int
	// Zones limits the zones that a provider may list, managed or not.
	Zones int
}

// Check returns an error, with the flag, for an invalid limit.
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

// filled returns the limits with defaults for zeros.
func (l Limits) filled() Limits {
	return Limits{
		ZoneRecords: cmp.Or(l.ZoneRecords, DefaultZoneRecords),
		Records:     cmp.Or(l.Records, DefaultRecords),
		Zones:       cmp.Or(l.Zones, DefaultZones),
	}
}

// usage is the size of a listing, or its limit.
type usage struct{ records, bytes int }

func (u usage) plus(o usage) usage { return usage{u.records + o.records, u.bytes + o.bytes} }

func (u usage) minus(o usage) usage { return usage{u.records - o.records, u.bytes - o.bytes} }

// above returns by how much u exceeds o, zero where it doesn't.
func (u usage) above(o usage) usage {
	return usage{max(u.records-o.records, 0), max(u.bytes-o.bytes, 0)}
}

func (u usage) fits(most usage) bool { return u.records <= most.records && u.bytes <= most.bytes }

func mostOf(records int) usage { return usage{records, records * averageSize} }

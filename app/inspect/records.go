package inspect

import "time"

// RecordState is the publishing state of a record.
type RecordState string

// States of a record.
const (
	// RecordPublished: the zone has the wanted record.
	RecordPublished RecordState = "published"
	// RecordPending: the record is being planned or written.
	RecordPending RecordState = "pending"
	// RecordHeld: the change waits for approval or for unread sources.
	RecordHeld RecordState = "held"
	// RecordConflict: the name has records of another or unknown owner.
	RecordConflict RecordState = "conflict"
	// RecordNoZone: no zone of the provider holds the name.
	RecordNoZone RecordState = "no-zone"
	// RecordFailing: the provider refuses the record or is unreachable.
	RecordFailing RecordState = "failing"
	// RecordForeign: the zone has the record, it isn't ours, and no object asks for it.
	RecordForeign RecordState = "foreign"
	// RecordUnwanted: the record is ours, no object asks for it, and the policy or a filter keeps it.
	RecordUnwanted RecordState = "unwanted"
)

// RecordStates returns all states, in the order of publishing.
func RecordStates() []string {
	var names []string
	for _, s := range []RecordState{RecordPublished, RecordPending, RecordHeld, RecordConflict, RecordNoZone, RecordFailing, RecordUnwanted, RecordForeign} {
		names = append(names, string(s))
	}
	return names
}

// Record is a record set: what objects ask for, what the zone has, and why the two differ.
type Record struct {
	// ID is unique in the process and constant for the record.
	ID        string `json:"id"`
	Process   string `json:"process,omitempty"`
	Publisher string `json:"publisher,omitempty"`
	// Zone is empty for an unzoned name.
	Zone          string      `json:"zone,omitempty"`
	ZoneID        string      `json:"zoneId,omitempty"`
	Name          string      `json:"name"`
	Type          string      `json:"type"`
	SetIdentifier string      `json:"setIdentifier,omitempty"`
	State         RecordState `json:"state"`
	// Wanted are the targets that objects ask for, Targets those of the zone, in master file format
	// and at most 50 each. Truncated says that there are more.
	Wanted    []string `json:"wanted,omitempty"`
	Targets   []string `json:"targets,omitempty"`
	Truncated bool     `json:"truncated,omitempty"`
	TTL       int64    `json:"ttl,omitempty"`
	// Owner is the owner of the zone's record set; empty if unknown.
	Owner string `json:"owner,omitempty"`
	// Objects ask for the record and get it.
	Objects []ObjectRef `json:"objects,omitempty"`
	// Losers are objects, at most 16, that lose the record to another object.
	Losers []RecordLoser `json:"losers,omitempty"`
	// Message says why the zone doesn't have what is wanted, and what to do; empty if it does.
	Message string `json:"message,omitempty"`
	// Next is the time of the next attempt, if known.
	Next *time.Time `json:"next,omitempty"`
}

// RecordLoser is objects that lose a record set to another object.
type RecordLoser struct {
	Objects []ObjectRef `json:"objects"`
	// Wanted are their wanted targets.
	Wanted []string `json:"wanted"`
	// Message says which object has the name, and what to do.
	Message string `json:"message"`
}

// RecordList is the response of [RecordsPath], sorted by publisher, zone, name and type.
type RecordList struct {
	Records []Record `json:"records"`
	Page
}

// Zone is a zone of a publisher.
type Zone struct {
	Publisher string              `json:"publisher,omitempty"`
	Name      string              `json:"name"`
	ID        string              `json:"id,omitempty"`
	Records   map[RecordState]int `json:"records"`
	// Read is when the zone was last read; nil means never. Problem says why it can't be read or
	// written.
	Read    *time.Time `json:"read,omitempty"`
	Problem string     `json:"problem,omitempty"`
	// Held is the hash of the changes that wait for approval.
	Held string `json:"held,omitempty"`
}

// ZoneList is the response of [ZonesPath], sorted by publisher and name.
type ZoneList struct {
	Zones []Zone `json:"zones"`
	Page
}

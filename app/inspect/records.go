package inspect

import "time"

// RecordState says where a record is on its way into a zone.
type RecordState string

// The states of a record.
const (
	// RecordPublished: the zone has what objects ask for.
	RecordPublished RecordState = "published"
	// RecordPending: it is being planned or written.
	RecordPending RecordState = "pending"
	// RecordHeld: it waits for approval, or until more is known.
	RecordHeld RecordState = "held"
	// RecordConflict: the name has records of another owner, or of nobody known.
	RecordConflict RecordState = "conflict"
	// RecordNoZone: no zone of the provider holds the name.
	RecordNoZone RecordState = "no-zone"
	// RecordFailing: the provider refuses it, or can't be reached.
	RecordFailing RecordState = "failing"
	// RecordForeign: the zone has it, it isn't ours, and nobody asks for it.
	RecordForeign RecordState = "foreign"
	// RecordUnwanted: it is ours, nobody asks for it, and the policy or a filter keeps it.
	RecordUnwanted RecordState = "unwanted"
)

// Record is a record set: what objects ask for, what the zone has, and why these differ.
type Record struct {
	// ID is unique in the process and lasts as long as the record.
	ID        string `json:"id"`
	Process   string `json:"process,omitempty"`
	Publisher string `json:"publisher,omitempty"`
	// Zone is empty for a name that is in no zone.
	Zone          string      `json:"zone,omitempty"`
	ZoneID        string      `json:"zoneId,omitempty"`
	Name          string      `json:"name"`
	Type          string      `json:"type"`
	SetIdentifier string      `json:"setIdentifier,omitempty"`
	State         RecordState `json:"state"`
	// Wanted are the targets that objects ask for, Targets those that the zone has. They are in
	// the form of master files, at most 50 of each; Truncated says that there are more.
	Wanted    []string `json:"wanted,omitempty"`
	Targets   []string `json:"targets,omitempty"`
	Truncated bool     `json:"truncated,omitempty"`
	TTL       int64    `json:"ttl,omitempty"`
	// Owner is who owns what the zone has; empty for nobody known.
	Owner string `json:"owner,omitempty"`
	// Objects are those that ask for it.
	Objects []ObjectRef `json:"objects,omitempty"`
	// Losers are objects that ask for it and don't get it, because another object has the name: at
	// most 16.
	Losers []RecordLoser `json:"losers,omitempty"`
	// Message says why the zone doesn't have what is wanted, and what to do; empty if it does.
	Message string `json:"message,omitempty"`
	// Next is when it is tried again, if that is known.
	Next *time.Time `json:"next,omitempty"`
}

// RecordLoser is objects that ask for a record set that another object has.
type RecordLoser struct {
	Objects []ObjectRef `json:"objects"`
	// Wanted are the targets that they ask for.
	Wanted []string `json:"wanted"`
	// Message says which object has the name, and what to do.
	Message string `json:"message"`
}

// RecordList is the answer of [RecordsPath], sorted by publisher, zone, name and type.
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
	// Read is when the zone was read last; nil if it never was. Problem says why it can't be read or
	// written.
	Read    *time.Time `json:"read,omitempty"`
	Problem string     `json:"problem,omitempty"`
	// Held is the hash of what waits for approval.
	Held string `json:"held,omitempty"`
}

// ZoneList is the answer of [ZonesPath], sorted by publisher and name.
type ZoneList struct {
	Zones []Zone `json:"zones"`
	Page
}

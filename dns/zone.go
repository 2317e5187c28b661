package dns

// Zone is a zone of a provider.
type Zone struct {
	// ID is the provider's identifier of the zone.
	ID string
	// Name is the apex name, without a final dot. It is empty for the root, and for a provider without
	// zones.
	Name string
	// Private is true for a zone that only some networks can query.
	Private bool
	// Version changes with the records of the zone, if the list of zones has such a value, such as the
	// number of records. Otherwise it is empty. It doesn't identify the zone.
	Version string
}

// ZoneKey identifies a zone. With some providers only the ID is unique, with others only the name.
type ZoneKey struct{ ID, Name string }

// Key returns the key of a zone.
func (z Zone) Key() ZoneKey { return ZoneKey{z.ID, z.Name} }

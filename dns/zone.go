package dns

// Zone is a part of the name space that a provider serves.
type Zone struct {
	// ID is how the provider identifies the zone.
	ID string
	// Name is the name of the zone's apex, without a dot at its end. It is empty for the root,
	// and for a provider that has no zones.
	Name string
	// Private is true for a zone that only some networks can query.
	Private bool
	// Version differs after records of the zone have changed, if the provider can tell that
	// from the list of its zones: such as a number of records. It is empty if it can't, and no part
	// of what identifies a zone.
	Version string
}

package dns

// Zone is a part of the name space that a provider serves.
type Zone struct {
	// ID is the provider's own name for the zone.
	ID string
	// Name is the name of its apex, without a dot at its end. It is empty for a provider
	// that has no zones, or the root.
	Name string
	// Private is true for a zone that only some networks see.
	Private bool
}

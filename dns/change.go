package dns

// Change is one step from what a zone has to what it is to have: a record set that is
// created (Old is nil), deleted (New is nil), or replaced by one with the same key.
type Change struct {
	// Old is the record set as the provider listed it.
	Old *RecordSet
	New *RecordSet
}

// RecordSet returns the record set that is to be there, or else the one that is to go.
func (c Change) RecordSet() *RecordSet {
	if c.New != nil {
		return c.New
	}
	return c.Old
}

// Problem says that something which an object asks for can't be had. It costs only the
// record set or the setting that it is about.
type Problem struct {
	Object Object
	// Subject is where the fault is: an annotation, a field, a flag.
	Subject string
	// Value is what is there.
	Value string
	// Reason says what is wrong with it and what is allowed, without a full stop.
	Reason string
}

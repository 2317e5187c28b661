package dns

// Change is one step from the current to the wanted state of a zone: a record set is created (Old
// is nil), deleted (New is nil), or replaced by one with the same key.
type Change struct {
	// Old is the record set as the provider listed it.
	Old *RecordSet
	New *RecordSet
}

// RecordSet returns New, or Old for a deletion.
func (c Change) RecordSet() *RecordSet {
	if c.New != nil {
		return c.New
	}
	return c.Old
}

// Subject returns the canonical name that the change is about: the name of its record set, or, for
// an ownership record, the name of the record set that it describes ([LabelOwnedRecord]).
func (c Change) Subject() string {
	r := c.RecordSet()
	if owned := Canonical(r.Labels[LabelOwnedRecord]); owned != "" {
		return owned
	}
	return Canonical(r.Name)
}

// Problem is a part of an object that can't be published. The rest of the object is.
type Problem struct {
	Object Object
	// Subject is the faulty annotation, field or flag.
	Subject string
	// Value is the faulty value.
	Value string
	// Reason says what is wrong and what is allowed, without a full stop.
	Reason string
	// Event is the reason of its Event; empty means the default for invalid values.
	Event string
}

// Text returns the problem as a sentence without a full stop: the subject, its value as formatted
// by quote, and the reason. Without a value, such as for a list that is too long, the value is left
// out.
func (p Problem) Text(quote func(string) string) string {
	switch {
	case p.Subject == "":
		return p.Reason
	case p.Value == "":
		return p.Subject + ": " + p.Reason
	}
	return p.Subject + " is " + quote(p.Value) + ": " + p.Reason
}

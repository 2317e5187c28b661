package validate

// Writers returns the validators of what Signpost writes: slices, Endpoints and records.
func Writers() []Validator {
	return []Validator{foreignRecords(), outsideLease()}
}

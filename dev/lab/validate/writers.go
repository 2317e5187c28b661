package validate

// Writers returns the validators of what Signpost writes: slices, Endpoints and records. They are the part of V1 that is about
// them, V5, V6 and V7.
func Writers() []Validator {
	return []Validator{settledWriters(), sliceOrder(), foreignRecords(), outsideLease()}
}

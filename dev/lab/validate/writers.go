package validate

// Writers returns the validators of slices, Endpoints and records that Signpost writes: their part of V1, V5,
// V6 and V7.
func Writers() []Validator {
	return []Validator{settledWriters(), sliceOrder(), unownedRecords(), outsideLease()}
}

package validate

import "slices"

// All returns the ten validators. V1 has two parts: one for streams and one for written objects.
func All() []Validator { return slices.Concat(Destination(), XDS(), Writers()) }

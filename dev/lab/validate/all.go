package validate

import "slices"

// All returns the ten validators, in parts: V1 is there for streams and for what is written.
func All() []Validator { return slices.Concat(Destination(), XDS(), Writers()) }

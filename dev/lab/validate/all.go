package validate

import "slices"

// All returns the seven validators, in parts: V1 is there for streams and for what is written.
func All() []Validator { return slices.Concat(Destination(), Writers()) }

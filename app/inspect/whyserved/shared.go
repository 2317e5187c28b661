package whyserved

import (
	"context"
	"errors"

	"github.com/signpostd/signpost/app/inspect"
)

// maxTogether limits the objects of a kind in a namespace that are read together.
const maxTogether = 500

// errTooMany is the error of a kind with more objects than are read together.
var errTooMany = errors.New("too many objects to be read together")

// readAll returns all objects of a kind in the namespace, which explanations of one search read once. ok
// is false if the explanation is on its own, or they can't be read together: then it reads what it needs.
// read returns the objects, and the token for further ones.
func readAll[T any](ctx context.Context, l live, kind string, read func() (objects []T, next string, err error)) (all []T, ok bool) {
	shared := inspect.SharedOf(ctx)
	if !shared.Covers(l.namespace) {
		return nil, false
	}
	found, err := shared.Once(kind+" of "+l.namespace, func() (any, error) {
		objects, next, err := read()
		if err == nil && next != "" {
			err = errTooMany
		}
		return objects, err
	})
	if err != nil {
		return nil, false
	}
	all, ok = found.([]T)
	return all, ok
}

package settings

import (
	"fmt"
	"math"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// bounds are the least and the greatest valid value of a whole number.
type bounds struct{ least, most int }

// atLeast returns bounds without a greatest value.
func atLeast(least int) *bounds { return &bounds{least, math.MaxInt} }

func between(least, most int) *bounds { return &bounds{least, most} }

// String returns the condition on a value.
func (b *bounds) String() string {
	switch {
	case b.most != math.MaxInt:
		return fmt.Sprintf("must be from %d to %d", b.least, b.most)
	case b.least == 0:
		return "must not be negative"
	default:
		return fmt.Sprintf("must be at least %d", b.least)
	}
}

// narrow returns the schema of a number with the bounds.
func (b *bounds) narrow(schema object) object {
	narrow := object{"type": schema["type"], "minimum": b.least}
	if b.most != math.MaxInt {
		narrow["maximum"] = b.most
	}
	return narrow
}

// checkBounds returns the settings whose numbers are out of bounds. The advice follows the reason.
func checkBounds(settings []Setting, advice string) []problem {
	var found []problem
	for _, s := range settings {
		v, number := s.Value.(scalarValue[int])
		if number && s.bounds != nil && (*v.target < s.bounds.least || *v.target > s.bounds.most) {
			found = append(found, problem{flags: []string{s.Flag}, reason: s.bounds.String() + advice})
		}
	}
	return found
}

const (
	// namespacePattern matches the name of a namespace, and optionalNamespace also an empty text.
	namespacePattern  = `^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`
	optionalNamespace = `^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)?$`
	// leasePattern matches the name of a Lease.
	leasePattern = `^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
)

// checkNamespace returns the problem of a text that isn't the name of a namespace. Of an empty one, objects
// of all namespaces would be read.
func checkNamespace(flag, name string) []problem {
	if wrong := validation.IsDNS1123Label(name); len(wrong) > 0 {
		return []problem{{flags: []string{flag}, reason: "is not a valid name of a namespace: " + strings.Join(wrong, ", ")}}
	}
	return nil
}

package catalog

import (
	"slices"

	"github.com/signpostd/signpost/internal/objectmeta"
)

// Operator is the operator of a [Requirement], spelled as in metav1.LabelSelectorOperator.
type Operator string

// The operators of label selectors.
const (
	In           Operator = "In"
	NotIn        Operator = "NotIn"
	Exists       Operator = "Exists"
	DoesNotExist Operator = "DoesNotExist"
)

// Requirement is one condition of a [Selector].
type Requirement struct {
	Key      string
	Operator Operator
	// Values is used by In and NotIn.
	Values []string
}

// Selector selects the objects that meet all of its requirements. An empty Selector selects everything, and a
// nil *Selector nothing.
type Selector struct {
	Requirements []Requirement
}

// Matches reports whether the selector selects an object with these labels.
func (s *Selector) Matches(l objectmeta.Labels) bool {
	if s == nil {
		return false
	}
	for _, r := range s.Requirements {
		if !r.matches(l) {
			return false
		}
	}
	return true
}

func (r Requirement) matches(l objectmeta.Labels) bool {
	v, ok := l.Get(r.Key)
	switch r.Operator {
	case In:
		return ok && slices.Contains(r.Values, v)
	case NotIn:
		// As in Kubernetes, an object without the label matches.
		return !ok || !slices.Contains(r.Values, v)
	case Exists:
		return ok
	case DoesNotExist:
		return !ok
	default:
		return false
	}
}

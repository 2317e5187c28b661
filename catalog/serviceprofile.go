package catalog

import (
	"errors"
	"regexp/syntax"
	"slices"
	"time"
)

// ServiceProfile is what the catalog keeps of a linkerd.io/v1alpha2
// ServiceProfile. Its name is the full DNS name of a Service.
type ServiceProfile struct {
	Cluster, Namespace, Name string
	// Invalid is true when a part that can't be left out can't be used. The Service then has
	// the default profile, and nothing else is set.
	Invalid bool

	Routes []Route
	// RetryBudget is nil when the profile leaves the default in force.
	RetryBudget  *RetryBudget
	DstOverrides []WeightedDst
}

// Route is one route of a ServiceProfile.
type Route struct {
	Name string
	// Condition is nil when there is none, which is not valid.
	Condition       *RequestMatch
	ResponseClasses []ResponseClass
	Retryable       bool
	// Timeout is zero for none.
	Timeout time.Duration
}

// RequestMatch is a condition on requests: all fields that are set must hold. It is not valid
// without any field, or with a nil child.
type RequestMatch struct {
	All, Any          []*RequestMatch
	Not               *RequestMatch
	Method, PathRegex string
}

// BrokenRegexps returns the expressions of the condition that are none. Proxies use a dialect that takes
// more than Go's, so only mistakes count that no dialect takes.
func (m *RequestMatch) BrokenRegexps() []string {
	if m == nil {
		return nil
	}
	var broken []string
	if isBrokenRegexp(m.PathRegex) {
		broken = append(broken, m.PathRegex)
	}
	for _, branch := range slices.Concat(m.All, m.Any, []*RequestMatch{m.Not}) {
		broken = append(broken, branch.BrokenRegexps()...)
	}
	return broken
}

func isBrokenRegexp(text string) bool {
	_, err := syntax.Parse(text, syntax.Perl)
	var mistake *syntax.Error
	if !errors.As(err, &mistake) {
		return false
	}
	switch mistake.Code {
	case syntax.ErrMissingParen, syntax.ErrUnexpectedParen, syntax.ErrMissingBracket, syntax.ErrTrailingBackslash,
		syntax.ErrMissingRepeatArgument, syntax.ErrInvalidCharRange:
		return true
	default:
		return false
	}
}

// ResponseClass says whether responses of a kind are failures.
type ResponseClass struct {
	// Condition is nil when there is none, which is not valid.
	Condition *ResponseMatch
	Failure   bool
}

// ResponseMatch is a condition on responses, of the same form as [RequestMatch].
type ResponseMatch struct {
	All, Any []*ResponseMatch
	Not      *ResponseMatch
	Status   *StatusRange
}

// StatusRange is an inclusive range of HTTP statuses; 0 means no limit.
type StatusRange struct {
	Min, Max int64
}

// RetryBudget limits retries.
type RetryBudget struct {
	Ratio               float64
	MinRetriesPerSecond int64
	// TTL is how long a request counts.
	TTL time.Duration
}

// WeightedDst is another destination that takes a share of the traffic.
type WeightedDst struct {
	Authority string
	// MilliWeight is the weight in thousandths.
	MilliWeight int64
}

// ID implements [Object].
func (p *ServiceProfile) ID() ID {
	return ID{Kind: KindServiceProfile, Cluster: p.Cluster, Namespace: p.Namespace, Name: p.Name}
}

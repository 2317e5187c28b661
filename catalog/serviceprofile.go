package catalog

import (
	"errors"
	"regexp/syntax"
	"slices"
	"time"
)

// ServiceProfile has the fields of a linkerd.io/v1alpha2 ServiceProfile that are used. Its name is the full
// DNS name of a Service.
type ServiceProfile struct {
	Cluster, Namespace, Name string
	// Invalid is true if a required part can't be used. The Service then has the default profile, and no
	// other field is set.
	Invalid bool

	Routes []Route
	// RetryBudget is nil for the default.
	RetryBudget  *RetryBudget
	DstOverrides []WeightedDst
}

// Route is one route of a ServiceProfile.
type Route struct {
	Name string
	// Condition is required; nil is invalid.
	Condition       *RequestMatch
	ResponseClasses []ResponseClass
	Retryable       bool
	// Timeout is zero for none.
	Timeout time.Duration
}

// RequestMatch is a condition on requests: all fields that are set must match. It is invalid without any
// field, or with a nil child.
type RequestMatch struct {
	All, Any          []*RequestMatch
	Not               *RequestMatch
	Method, PathRegex string
}

// BrokenRegexps returns the invalid regular expressions of the condition. The dialect of proxies accepts more
// than Go's, so only errors of any dialect are reported.
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

// ResponseClass classifies the responses that match a condition.
type ResponseClass struct {
	// Condition is required; nil is invalid.
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
	// TTL is the time for which a request counts.
	TTL time.Duration
}

// WeightedDst is a destination that gets a share of the traffic.
type WeightedDst struct {
	Authority string
	// MilliWeight is the weight in thousandths.
	MilliWeight int64
}

// ID implements [Object].
func (p *ServiceProfile) ID() ID {
	return ID{Kind: KindServiceProfile, Cluster: p.Cluster, Namespace: p.Namespace, Name: p.Name}
}

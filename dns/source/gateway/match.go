package gateway

import (
	"net/netip"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/source"
)

// anyName is the pattern of a listener or route for all names.
const anyName = ""

// pattern returns the canonical form of a name, which may begin with "*.". It returns false for
// anything that a listener can't serve: an IP address, or an invalid DNS name.
func pattern(text string) (string, bool) {
	name := dns.Canonical(text)
	base := strings.TrimPrefix(name, "*.")
	if len(validation.IsDNS1123Subdomain(base)) > 0 {
		return "", false
	}
	_, err := netip.ParseAddr(base)
	return name, err != nil
}

// overlap returns the intersection of two patterns, which is the more specific one, or false if it
// is empty (spec/dns.md §6.5.10).
func overlap(a, b string) (string, bool) {
	switch {
	case a == anyName:
		return b, b != anyName
	case b == anyName, a == b, covers(b, a):
		return a, true
	default:
		return b, covers(a, b)
	}
}

// covers reports whether a pattern is a wildcard above a name, or above another pattern.
func covers(pattern, name string) bool {
	suffix, wildcard := strings.CutPrefix(pattern, "*")
	return wildcard && len(name) > len(suffix) && strings.HasSuffix(name, suffix)
}

// scope says from which namespaces objects may be attached.
type scope string

// Scopes in the API's spelling.
const (
	fromSame     scope = "Same"
	fromAll      scope = "All"
	fromSelector scope = "Selector"
)

// admission says which namespaces' objects may be attached.
type admission struct {
	from scope
	// selector is for fromSelector.
	selector labels.Selector
}

// admits reports whether an object of a namespace may be attached to one of the namespace own. of is the
// former namespace; nil if it doesn't exist.
func (a admission) admits(own, namespace string, of *source.Namespace) bool {
	switch a.from {
	case fromAll:
		return true
	case fromSame:
		return own == namespace
	case fromSelector:
		return of != nil && a.selector.Matches(of.Labels)
	}
	return false
}

func accepted(conditions []condition) bool {
	return slices.ContainsFunc(conditions, func(c condition) bool {
		return c.Type == "Accepted" && c.Status == string(metav1.ConditionTrue)
	})
}

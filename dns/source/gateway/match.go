package gateway

import (
	"net/netip"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/signpostd/signpost/dns"
)

// anyName is the pattern of a listener or route that takes all names.
const anyName = ""

// pattern returns the canonical form of a name, which may begin with "*.", and false if it is no
// name that a listener can serve: an IP address, or what isn't a name of DNS.
func pattern(text string) (string, bool) {
	name := dns.Canonical(text)
	base := strings.TrimPrefix(name, "*.")
	if len(validation.IsDNS1123Subdomain(base)) > 0 {
		return "", false
	}
	_, err := netip.ParseAddr(base)
	return name, err != nil
}

// overlap returns what two patterns have in common, which is the more specific one of them, and
// false if there is no such name (spec/dns.md §6.5.10).
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

// covers reports whether a pattern is a wildcard with a name, or another pattern, below it.
func covers(pattern, name string) bool {
	suffix, wildcard := strings.CutPrefix(pattern, "*")
	return wildcard && len(name) > len(suffix) && strings.HasSuffix(name, suffix)
}

// scope says from which namespaces objects may come.
type scope string

// The scopes, as they are written.
const (
	fromSame     scope = "Same"
	fromAll      scope = "All"
	fromSelector scope = "Selector"
)

// admission says which objects of other namespaces may be attached.
type admission struct {
	from scope
	// selector is for fromSelector.
	selector labels.Selector
}

// admits reports whether an object of a namespace may be attached to one of the namespace own.
// The labels are those of the former; nil is for a namespace that doesn't exist.
func (a admission) admits(own, namespace string, of *labelled) bool {
	switch a.from {
	case fromAll:
		return true
	case fromSame:
		return own == namespace
	case fromSelector:
		return a.selects(of)
	}
	return false
}

// selects reports whether the namespace with these labels is selected.
func (a admission) selects(of *labelled) bool {
	return a.from == fromSelector && of != nil && a.selector.Matches(of)
}

// labelled is the namespace that is asked about: its labels, sorted by key. Many namespaces are
// kept, and few are asked about, so there is no map.
type labelled struct {
	name   string
	labels []label
}

type label struct{ key, value string }

// Lookup implements [labels.Labels].
func (l *labelled) Lookup(key string) (value string, exists bool) {
	i, exists := slices.BinarySearchFunc(l.labels, key, func(l label, key string) int { return strings.Compare(l.key, key) })
	if !exists {
		return "", false
	}
	return l.labels[i].value, true
}

// Has implements [labels.Labels].
func (l *labelled) Has(key string) bool {
	_, exists := l.Lookup(key)
	return exists
}

// Get implements [labels.Labels].
func (l *labelled) Get(key string) string {
	value, _ := l.Lookup(key)
	return value
}

// accepted reports whether a list of conditions has the condition Accepted.
func accepted(conditions []condition) bool {
	return slices.ContainsFunc(conditions, func(c condition) bool {
		return c.Type == "Accepted" && c.Status == string(metav1.ConditionTrue)
	})
}

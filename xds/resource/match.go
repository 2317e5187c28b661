package resource

import (
	"cmp"
	"errors"
	"regexp/syntax"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/signpostd/signpost/catalog"
)

// maxAlternatives is how many routes the condition of one route of a ServiceProfile becomes.
const maxAlternatives = 64

// The conditions that routes can't have.
var (
	errManyAlternatives = errors.New("the condition has too many alternatives")
	errTwoPaths         = errors.New("two pathRegex can't hold at once in xDS")
	errNotPath          = errors.New("xDS has no not for a pathRegex")
	errNotTree          = errors.New("xDS has not for a method only")
	errNoCondition      = errors.New("a part of the condition is empty")
)

// conjunction is the condition of a route: a request matches the path and all methods.
type conjunction struct {
	path    string // an expression for the whole path; empty for any
	methods []methodTest
}

// methodTest requires a method, or with not any other one.
type methodTest struct {
	method string
	not    bool
}

// alternatives returns the conjunctions of a condition in disjunctive normal form. Those that no
// request of the client matches are left out: all requests of gRPC have the method POST.
func alternatives(condition *catalog.RequestMatch, c Client) ([]conjunction, error) {
	list, err := expand(condition)
	if err != nil || c == Envoy {
		return list, err
	}
	kept := list[:0]
	for _, each := range list {
		if !slices.ContainsFunc(each.methods, func(t methodTest) bool { return (t.method == "POST") == t.not }) {
			each.methods = nil
			kept = append(kept, each)
		}
	}
	return kept, nil
}

// expand returns the conjunctions of a condition for any client.
func expand(m *catalog.RequestMatch) (list []conjunction, err error) {
	if m == nil || len(m.All) == 0 && len(m.Any) == 0 && m.Not == nil && m.Method == "" && m.PathRegex == "" {
		return nil, errNoCondition
	}
	if m.PathRegex != "" {
		if err := checkRegexp(m.PathRegex); err != nil {
			return nil, err
		}
	}
	list = []conjunction{{path: m.PathRegex}}
	if m.Method != "" {
		list[0].methods = []methodTest{{method: strings.ToUpper(m.Method)}}
	}
	if m.Not != nil {
		if err := checkNegated(m.Not); err != nil {
			return nil, err
		}
		list[0].methods = append(list[0].methods, methodTest{method: strings.ToUpper(m.Not.Method), not: true})
	}
	for _, branch := range m.All {
		if list, err = product(list, []*catalog.RequestMatch{branch}); err != nil {
			return nil, err
		}
	}
	if len(m.Any) == 0 {
		return list, nil
	}
	return product(list, m.Any)
}

// checkNegated returns the reason why a condition can't be negated. A method can be.
func checkNegated(m *catalog.RequestMatch) error {
	switch {
	case m.PathRegex != "":
		return errNotPath
	case len(m.All) > 0 || len(m.Any) > 0 || m.Not != nil:
		return errNotTree
	case m.Method == "":
		return errNoCondition
	default:
		return nil
	}
}

// product returns the conjunctions that hold if one of a list and one of the branches holds.
func product(left []conjunction, branches []*catalog.RequestMatch) (list []conjunction, err error) {
	for _, branch := range branches {
		right, err := expand(branch)
		if err != nil {
			return nil, err
		}
		if len(list)+len(left)*len(right) > maxAlternatives {
			return nil, errManyAlternatives
		}
		for _, l := range left {
			for _, r := range right {
				if l.path != "" && r.path != "" && r.path != l.path {
					return nil, errTwoPaths
				}
				list = append(list, conjunction{path: cmp.Or(l.path, r.path), methods: slices.Concat(l.methods, r.methods)})
			}
		}
	}
	return list, nil
}

// encode returns the RouteMatch.
func (c conjunction) encode() (m message) {
	literal, isLiteral := literalPath(c.path)
	switch {
	case c.path == "":
		m = all()
	case isLiteral:
		m = m.text(2, literal)
	default:
		m = m.nested(10, message{}.text(2, c.path))
	}
	for _, t := range c.methods {
		m = m.nested(6, message{}.text(1, ":method").number(8, protowire.EncodeBool(t.not)).nested(13, message{}.nested(1, message(t.method))))
	}
	return m
}

// literalPath returns the only path that an expression matches, such as /shop.Cart/Add for
// /shop\.Cart/Add, and false if there are several.
func literalPath(expression string) (string, bool) {
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil || parsed.Op != syntax.OpLiteral || parsed.Flags&syntax.FoldCase != 0 {
		return "", false
	}
	path := string(parsed.Rune)
	return path, strings.HasPrefix(path, "/") && !strings.ContainsAny(path, "?#")
}

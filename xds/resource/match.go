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

// maxAlternatives limits the routes into which the condition of one route of a ServiceProfile is
// split.
const maxAlternatives = 64

// conjunction is the condition of a route: a request matches the path and all methods.
type conjunction struct {
	path    string // an expression for the whole path; empty for any
	methods []methodTest
}

// methodTest requires a method or, if not is true, any other method.
type methodTest struct {
	method string
	not    bool
}

// alternatives returns the conjunctions of a condition in disjunctive normal form. Those that no
// request of the client matches are left out: all requests of gRPC have the method POST.
func alternatives(m *catalog.RequestMatch, c Client) (list []conjunction, err error) {
	if m == nil || len(m.All) == 0 && len(m.Any) == 0 && m.Not == nil && m.Method == "" && m.PathRegex == "" {
		return nil, errors.New("a part of the condition is empty")
	}
	if m.PathRegex != "" {
		if err := checkRegexp(m.PathRegex); err != nil {
			return nil, err
		}
	}
	list = []conjunction{{path: m.PathRegex}}
	require := func(method string, not bool) {
		method = strings.ToUpper(method)
		if c == Envoy {
			list[0].methods = append(list[0].methods, methodTest{method, not})
		} else if (method == "POST") == not {
			list = nil
		}
	}
	if m.Method != "" {
		require(m.Method, false)
	}
	if not := m.Not; not != nil {
		if not.Method == "" || not.PathRegex != "" || len(not.All) > 0 || len(not.Any) > 0 || not.Not != nil {
			return nil, errors.New("xDS supports not for a method only")
		}
		require(not.Method, true)
	}
	for _, branch := range m.All {
		if list, err = product(list, c, branch); err != nil {
			return nil, err
		}
	}
	if len(m.Any) == 0 {
		return list, nil
	}
	return product(list, c, m.Any...)
}

// product returns the conjunctions of a condition that requires one of left and one of branches.
func product(left []conjunction, c Client, branches ...*catalog.RequestMatch) (list []conjunction, err error) {
	for _, branch := range branches {
		right, err := alternatives(branch, c)
		if err != nil {
			return nil, err
		}
		if len(list)+len(left)*len(right) > maxAlternatives {
			return nil, errors.New("the condition has too many alternatives")
		}
		for _, l := range left {
			for _, r := range right {
				if l.path != "" && r.path != "" && r.path != l.path {
					return nil, errors.New("xDS can't require two pathRegex at once: combine them into one")
				}
				list = append(list, conjunction{path: cmp.Or(l.path, r.path), methods: slices.Concat(l.methods, r.methods)})
			}
		}
	}
	return list, nil
}

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

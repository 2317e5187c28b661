package destination

import (
	"errors"
	"fmt"
	"strings"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	httppb "github.com/linkerd/linkerd2-proxy-api/go/http_types"

	"github.com/signpostd/signpost/catalog"
)

// The errors of conditions, which are appended to the path of the field.
var (
	errEmptyMatch = errors.New(" is empty; set all, any, not, method or pathRegex, or status for responses")
	errStatus     = errors.New(".status: min and max are HTTP statuses from 100 to 599, or 0 for no limit, and max is not below min")
)

// node is one condition of a tree: its branches and its own tests. The tests in before are sent before the
// branch `not`, and those in after are sent after it.
type node[A, M any] struct {
	all, any      []*A
	not           *A
	before, after []*M
}

// grammar encodes conditions of the type A as messages of the type M.
type grammar[A, M any] struct {
	encode   func(*A) (*M, error)
	all, any func([]*M) *M
	not      func(*M) *M
}

// write encodes a condition. Several branches and tests are joined by all.
func (g grammar[A, M]) write(n node[A, M]) (*M, error) {
	var parts []*M
	for _, branch := range []struct {
		field string
		list  []*A
		join  func([]*M) *M
	}{{".all", n.all, g.all}, {".any", n.any, g.any}} {
		if len(branch.list) == 0 {
			continue
		}
		matches, err := g.each(branch.list, branch.field)
		if err != nil {
			return nil, err
		}
		parts = append(parts, branch.join(matches))
	}
	parts = append(parts, n.before...)
	if n.not != nil {
		m, err := g.encode(n.not)
		if err != nil {
			return nil, fmt.Errorf(".not%w", err)
		}
		parts = append(parts, g.not(m))
	}
	parts = append(parts, n.after...)
	switch len(parts) {
	case 0:
		return nil, errEmptyMatch
	case 1:
		return parts[0], nil
	default:
		return g.all(parts), nil
	}
}

func (g grammar[A, M]) each(list []*A, field string) ([]*M, error) {
	matches := make([]*M, len(list))
	for i, a := range list {
		m, err := g.encode(a)
		if err != nil {
			return nil, fmt.Errorf("%s[%d]%w", field, i, err)
		}
		matches[i] = m
	}
	return matches, nil
}

// requestMatch encodes a condition on requests.
func requestMatch(m *catalog.RequestMatch) (*pb.RequestMatch, error) {
	if m == nil {
		return nil, errEmptyMatch
	}
	n := node[catalog.RequestMatch, pb.RequestMatch]{all: m.All, any: m.Any, not: m.Not}
	if m.Method != "" {
		n.before = []*pb.RequestMatch{{Match: &pb.RequestMatch_Method{Method: method(m.Method)}}}
	}
	if m.PathRegex != "" {
		n.after = []*pb.RequestMatch{{Match: &pb.RequestMatch_Path{Path: &pb.PathMatch{Regex: m.PathRegex}}}}
	}
	return grammar[catalog.RequestMatch, pb.RequestMatch]{
		encode: requestMatch,
		all: func(l []*pb.RequestMatch) *pb.RequestMatch {
			return &pb.RequestMatch{Match: &pb.RequestMatch_All{All: &pb.RequestMatch_Seq{Matches: l}}}
		},
		any: func(l []*pb.RequestMatch) *pb.RequestMatch {
			return &pb.RequestMatch{Match: &pb.RequestMatch_Any{Any: &pb.RequestMatch_Seq{Matches: l}}}
		},
		not: func(m *pb.RequestMatch) *pb.RequestMatch {
			return &pb.RequestMatch{Match: &pb.RequestMatch_Not{Not: m}}
		},
	}.write(n)
}

func method(name string) *httppb.HttpMethod {
	name = strings.ToUpper(name)
	if n, ok := httppb.HttpMethod_Registered_value[name]; ok {
		return &httppb.HttpMethod{Type: &httppb.HttpMethod_Registered_{Registered: httppb.HttpMethod_Registered(n)}}
	}
	return &httppb.HttpMethod{Type: &httppb.HttpMethod_Unregistered{Unregistered: name}}
}

// responseMatch encodes a condition on responses.
func responseMatch(m *catalog.ResponseMatch) (*pb.ResponseMatch, error) {
	if m == nil {
		return nil, errEmptyMatch
	}
	n := node[catalog.ResponseMatch, pb.ResponseMatch]{all: m.All, any: m.Any, not: m.Not}
	if s := m.Status; s != nil {
		if !validStatus(*s) {
			return nil, errStatus
		}
		n.before = []*pb.ResponseMatch{{Match: &pb.ResponseMatch_Status{Status: &pb.HttpStatusRange{Min: uint32(s.Min), Max: uint32(s.Max)}}}}
	}
	return grammar[catalog.ResponseMatch, pb.ResponseMatch]{
		encode: responseMatch,
		all: func(l []*pb.ResponseMatch) *pb.ResponseMatch {
			return &pb.ResponseMatch{Match: &pb.ResponseMatch_All{All: &pb.ResponseMatch_Seq{Matches: l}}}
		},
		any: func(l []*pb.ResponseMatch) *pb.ResponseMatch {
			return &pb.ResponseMatch{Match: &pb.ResponseMatch_Any{Any: &pb.ResponseMatch_Seq{Matches: l}}}
		},
		not: func(m *pb.ResponseMatch) *pb.ResponseMatch {
			return &pb.ResponseMatch{Match: &pb.ResponseMatch_Not{Not: m}}
		},
	}.write(n)
}

func validStatus(r catalog.StatusRange) bool {
	valid := func(status int64) bool { return status == 0 || 100 <= status && status <= 599 }
	return valid(r.Min) && valid(r.Max) && (r.Min == 0 || r.Max == 0 || r.Max >= r.Min)
}

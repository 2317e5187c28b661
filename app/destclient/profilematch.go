package destclient

import (
	"fmt"
	"strconv"
	"strings"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	httppb "github.com/linkerd/linkerd2-proxy-api/go/http_types"
)

// condition is a condition on requests or responses as text. It has methods (GET), paths
// (~/cart/.*, a regular expression) and statuses (500-599), with & for and, | for or, ! for not,
// and parentheses.
type condition struct {
	// operator is & or |, which join the parts; !, which negates the only part; or empty for a text.
	operator string
	parts    []condition
	text     string
}

// String implements fmt.Stringer.
func (c condition) String() string {
	switch {
	case c.operator == "":
		return c.text
	case c.operator == "!":
		return "!" + c.parts[0].inside()
	case len(c.parts) == 0:
		return "(nothing joined by " + c.operator + ")"
	case len(c.parts) == 1:
		return c.parts[0].String()
	}
	texts := make([]string, len(c.parts))
	for i, p := range c.parts {
		texts[i] = p.inside()
	}
	return strings.Join(texts, " "+c.operator+" ")
}

// inside returns the condition as a part of another one.
func (c condition) inside() string {
	switch {
	case c.operator == "" || c.operator == "!" || len(c.parts) == 0:
		return c.String()
	case len(c.parts) == 1:
		return c.parts[0].inside()
	default:
		return "(" + c.String() + ")"
	}
}

// invalid stands for a condition that the server has left empty.
var invalid = condition{text: "(empty)"}

func requestCondition(m *pb.RequestMatch) condition {
	switch match := m.GetMatch().(type) {
	case *pb.RequestMatch_All:
		return joined("&", match.All.GetMatches(), requestCondition)
	case *pb.RequestMatch_Any:
		return joined("|", match.Any.GetMatches(), requestCondition)
	case *pb.RequestMatch_Not:
		return condition{operator: "!", parts: []condition{requestCondition(match.Not)}}
	case *pb.RequestMatch_Method:
		return condition{text: methodName(match.Method)}
	case *pb.RequestMatch_Path:
		return condition{text: "~" + pathText(match.Path.GetRegex())}
	default:
		return invalid
	}
}

func responseCondition(m *pb.ResponseMatch) condition {
	switch match := m.GetMatch().(type) {
	case *pb.ResponseMatch_All:
		return joined("&", match.All.GetMatches(), responseCondition)
	case *pb.ResponseMatch_Any:
		return joined("|", match.Any.GetMatches(), responseCondition)
	case *pb.ResponseMatch_Not:
		return condition{operator: "!", parts: []condition{responseCondition(match.Not)}}
	case *pb.ResponseMatch_Status:
		return condition{text: statuses(match.Status)}
	default:
		return invalid
	}
}

func joined[M any](operator string, matches []M, part func(M) condition) condition {
	c := condition{operator: operator}
	for _, m := range matches {
		c.parts = append(c.parts, part(m))
	}
	return c
}

func methodName(m *httppb.HttpMethod) string {
	if unregistered, ok := m.GetType().(*httppb.HttpMethod_Unregistered); ok {
		return printable(unregistered.Unregistered)
	}
	return m.GetRegistered().String()
}

// pathText quotes a regular expression that is ambiguous in a condition.
func pathText(regex string) string {
	if regex == "" || strings.Contains(regex, " ") {
		return strconv.Quote(regex)
	}
	return printable(regex)
}

// statuses returns a range; an end of 0 is open.
func statuses(r *pb.HttpStatusRange) string {
	low, high := r.GetMin(), r.GetMax()
	switch {
	case low == 0 && high == 0:
		return "any status"
	case high == 0:
		return fmt.Sprintf(">=%d", low)
	case low == 0:
		return fmt.Sprintf("<=%d", high)
	case low == high:
		return fmt.Sprint(low)
	default:
		return fmt.Sprintf("%d-%d", low, high)
	}
}

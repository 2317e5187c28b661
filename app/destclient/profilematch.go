package destclient

import (
	"fmt"
	"strconv"
	"strings"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	httppb "github.com/linkerd/linkerd2-proxy-api/go/http_types"
)

// Conditions on requests and responses are shown as methods (GET), paths (~/cart/.*, a regular expression)
// and statuses (500-599), with & for and, | for or, ! for not, and parentheses around parts.

// invalid stands for a condition that the server has left empty.
const invalid = "(empty)"

// requestCondition returns a condition on requests. part says that it is a part of another condition.
func requestCondition(m *pb.RequestMatch, part bool) string {
	switch match := m.GetMatch().(type) {
	case *pb.RequestMatch_All:
		return joined("&", match.All.GetMatches(), requestCondition, part)
	case *pb.RequestMatch_Any:
		return joined("|", match.Any.GetMatches(), requestCondition, part)
	case *pb.RequestMatch_Not:
		return "!" + requestCondition(match.Not, true)
	case *pb.RequestMatch_Method:
		return methodName(match.Method)
	case *pb.RequestMatch_Path:
		return "~" + pathText(match.Path.GetRegex())
	default:
		return invalid
	}
}

func responseCondition(m *pb.ResponseMatch, part bool) string {
	switch match := m.GetMatch().(type) {
	case *pb.ResponseMatch_All:
		return joined("&", match.All.GetMatches(), responseCondition, part)
	case *pb.ResponseMatch_Any:
		return joined("|", match.Any.GetMatches(), responseCondition, part)
	case *pb.ResponseMatch_Not:
		return "!" + responseCondition(match.Not, true)
	case *pb.ResponseMatch_Status:
		return statuses(match.Status)
	default:
		return invalid
	}
}

// joined joins conditions with an operator.
func joined[M any](operator string, matches []M, text func(m M, part bool) string, part bool) string {
	switch len(matches) {
	case 0:
		return "(nothing joined by " + operator + ")"
	case 1:
		return text(matches[0], part)
	}
	var texts []string
	for _, m := range matches {
		texts = append(texts, text(m, true))
	}
	all := strings.Join(texts, " "+operator+" ")
	if part {
		return "(" + all + ")"
	}
	return all
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

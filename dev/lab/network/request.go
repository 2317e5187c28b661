package network

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/signpostd/signpost/dev/lab/history"
)

// request is a parsed request to the API server.
type request struct {
	history.KubernetesWrite
	watch bool
	// changes is true if the API server stores something.
	changes bool
}

// verbs are the verbs of requests that may change something.
var verbs = map[string]string{
	http.MethodPost:   "create",
	http.MethodPut:    "update",
	http.MethodPatch:  "patch",
	http.MethodDelete: "delete",
}

// parse parses a request's method and URL. Resource is empty for paths without one, such as /version.
func parse(method string, u *url.URL) request {
	group, path := groupOf(strings.Split(strings.Trim(u.Path, "/"), "/"))
	var r request
	if len(path) > 2 && path[0] == "namespaces" && path[2] != "status" && path[2] != "finalize" {
		r.Namespace, path = path[1], path[2:]
	}
	if len(path) > 0 {
		r.Resource = path[0]
	}
	if len(path) > 1 {
		r.Name, r.Subresource = path[1], strings.Join(path[2:], "/")
	}
	query := u.Query()
	watch := query.Get("watch")
	r.watch = method == http.MethodGet && (watch == "true" || watch == "1")
	r.Verb = verbs[method]
	if r.Verb == "delete" && r.Name == "" {
		r.Verb = "deletecollection"
	}
	r.changes = r.Verb != "" && r.Resource != "" && !query.Has("dryRun") && !isReview(group)
	return r
}

// groupOf splits a path into the API group and the part after its version. Both are empty for a path outside
// of the API.
func groupOf(path []string) (group string, rest []string) {
	switch {
	case path[0] == "api" && len(path) > 2:
		return "", path[2:]
	case path[0] == "apis" && len(path) > 3:
		return path[1], path[3:]
	default:
		return "", nil
	}
}

// isReview reports whether the objects of a group are reviews, which are created but not stored.
func isReview(group string) bool {
	return group == "authorization.k8s.io" || group == "authentication.k8s.io"
}

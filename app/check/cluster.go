package check

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/signpostd/signpost/internal/sanitize"
	"github.com/signpostd/signpost/kube"
)

// unreachable is the check without any configured API server.
func (s Input) unreachable(context.Context) []Result {
	return []Result{{State: Unknown, Text: "no API server is known: " + reason(s.Unreachable)}}
}

// reach checks that the API server responds.
func (a checker) reach(ctx context.Context) []Result {
	version, err := kube.Reach(ctx, a.Own)
	switch {
	case apierrors.IsUnauthorized(err):
		return []Result{{State: Failed, Text: reason(err), Hint: "log in again, or choose another --context"}}
	case err != nil:
		return []Result{{State: Unknown, Text: reason(err), Hint: "check the address in the kubeconfig, and the network and firewalls on the way"}}
	case version == "":
		return []Result{{State: OK, Text: fmt.Sprintf("the API server %s answers", a.Own.Host)}}
	default:
		return []Result{{State: OK, Text: fmt.Sprintf("the API server %s answers: %s", a.Own.Host, sanitize.Name(version))}}
	}
}

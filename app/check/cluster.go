package check

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/version"

	"github.com/signpostd/signpost/internal/sanitize"
	"github.com/signpostd/signpost/kube"
)

// unreachable is the check without any configured API server.
func (s Input) unreachable(context.Context) []Result {
	return []Result{{State: Unknown, Text: "no API server is known: " + reason(s.Unreachable)}}
}

// reach asks the API server for its version.
func (a checker) reach(ctx context.Context) []Result {
	host := a.Own.Host
	text, err := a.own.Discovery().RESTClient().Get().AbsPath("/version").Do(ctx).Raw()
	var info version.Info
	switch {
	case apierrors.IsUnauthorized(err):
		return []Result{{State: Failed, Text: fmt.Sprintf("the API server %s doesn't accept the credentials", host), Hint: "log in again, or choose another --context"}}
	case apierrors.IsForbidden(err):
		return []Result{{State: OK, Text: fmt.Sprintf("the API server %s answers", host)}}
	case err != nil:
		return []Result{{State: Unknown, Text: reason(kube.ExplainRequest(err)), Hint: "check the address in the kubeconfig, and the network and firewalls on the way"}}
	case json.Unmarshal(text, &info) != nil || info.GitVersion == "":
		return []Result{{State: Unknown, Text: fmt.Sprintf("the server at %s is not an API server", host), Hint: "check the address in the kubeconfig"}}
	default:
		return []Result{{State: OK, Text: fmt.Sprintf("the API server %s answers: %s", host, sanitize.Name(info.GitVersion))}}
	}
}

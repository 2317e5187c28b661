package check

import (
	"context"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/app/inspect/whyserved"
	"github.com/signpostd/signpost/app/rbac"
	"github.com/signpostd/signpost/internal/sanitize"
	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/kube/kinds"
	"github.com/signpostd/signpost/kube/linked"
)

// maxLinks limits the linked clusters that are checked, because they are queried in parallel.
const maxLinks = 50

// linkSettings are the settings of the role that reads linked clusters.
type linkSettings struct {
	namespace string
	from      kinds.EndpointsFrom
	detours   linked.Detours
}

// linkSettings returns the settings of the destination role if it runs, else those of xds.
func (a checker) linkSettings() linkSettings {
	s, throughProxies := linkSettings{a.Config.XDS.LinkNamespace, kinds.FromEndpointSlices, linked.DetoursRefused}, a.Config.XDS.LinkedClustersThroughProxies
	if a.Config.RunsDestination {
		o := a.Config.Destination.Settled()
		s.namespace, s.from, throughProxies = o.LinkNamespace, o.EndpointsFrom(), o.LinkedClustersThroughProxies
	}
	if throughProxies {
		s.detours = linked.DetoursAllowed
	}
	return s
}

// links checks the Secrets that link clusters, and the clusters.
func (a checker) links(ctx context.Context) []Result {
	s := a.linkSettings()
	list, err := a.own.CoreV1().Secrets(s.namespace).List(ctx, metav1.ListOptions{LabelSelector: linked.Selector, Limit: maxLinks})
	switch {
	case apierrors.IsForbidden(err):
		return []Result{{State: Note, Text: "the linked clusters aren't known, because you may not list Secrets in the namespace " + sanitize.Name(s.namespace)}}
	case err != nil:
		return []Result{{State: Unknown, Text: "which clusters are linked: " + reason(err)}}
	}
	results := make([][]Result, len(list.Items))
	var asked sync.WaitGroup
	for i := range list.Items {
		asked.Go(func() { results[i] = a.link(ctx, &list.Items[i], s) })
	}
	asked.Wait()
	all := slices.Concat(results...)
	if list.Continue != "" {
		all = append(all, Result{State: Note, Text: fmt.Sprintf("only the first %d linked clusters were asked", maxLinks)})
	}
	return all
}

// link checks a Secret that links a cluster: whether it can be used, whether its API server responds, and
// the rights of its credentials there. That API server isn't trusted, so its responses are limited.
func (a checker) link(ctx context.Context, secret *corev1.Secret, s linkSettings) []Result {
	name := fmt.Sprintf("the Secret %s/%s", sanitize.Name(secret.Namespace), sanitize.Name(secret.Name))
	cluster, config, err := linked.Parse(secret, s.detours)
	if err != nil {
		return []Result{{State: Failed, Text: fmt.Sprintf("%s links no cluster: %s", name, reason(err))}}
	}
	config.UserAgent = a.Own.UserAgent
	config.Wrap(whyserved.Bounded)
	there := "the linked cluster " + sanitize.Name(cluster)
	switch _, err := kube.Reach(ctx, config); {
	case apierrors.IsUnauthorized(err):
		return []Result{{State: Failed, Text: there + ": " + reason(err), Hint: "link the cluster again: the credentials are those of " + name}}
	case err != nil:
		return []Result{{State: Unknown, Text: there + ": " + reason(err), Hint: "it was asked from here; signpost clusters shows whether the pods of Signpost can read it"}}
	}
	return a.linkRights(ctx, config, there, name, s.from)
}

// linkRights checks the rights of the credentials for a linked cluster.
func (a checker) linkRights(ctx context.Context, config *rest.Config, there, secret string, from kinds.EndpointsFrom) []Result {
	var err error
	if a.rights, err = client(config); err != nil {
		return []Result{{State: Failed, Text: there + ": " + reason(err)}}
	}
	a.As = there + ": the account of " + secret
	results := a.rightsOf(rbac.Needed{Roles: []rbac.Role{rbac.Linked(from)}})(ctx)
	for i := range results {
		if results[i].Hint != "" {
			results[i].Hint = "allow it in that cluster, to the account of the kubeconfig"
		}
	}
	return results
}

package check

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/app/inspect/whyserved"
	"github.com/signpostd/signpost/app/portforward"
	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/dns/configure"
	"github.com/signpostd/signpost/internal/leader"
	"github.com/signpostd/signpost/internal/sanitize"
)

const (
	// maxPods limits the pods that are read, far above any installation.
	maxPods = 100
	// maxUnled limits the listed publishers that aren't published.
	maxUnled = 5
)

// installed checks the pods of Signpost and leader election.
func (a checker) installed(ctx context.Context) []Result {
	results := a.needs(ctx)
	pods, found := a.pods(ctx)
	results = append(results, found...)
	for _, e := range a.elections() {
		results = append(results, a.leads(ctx, e, pods))
	}
	return results
}

// pods returns the pods of Signpost, and results about them.
func (a checker) pods(ctx context.Context) ([]corev1.Pod, []Result) {
	where, namespace := "all namespaces", a.Pods.Namespace
	if namespace != "" {
		where = "the namespace " + namespace
	}
	options := metav1.ListOptions{LabelSelector: cmp.Or(a.Pods.Selector, portforward.DefaultSelector), Limit: maxPods}
	list, err := a.own.CoreV1().Pods(namespace).List(ctx, options)
	if apierrors.IsForbidden(err) && namespace == "" {
		where = "the namespace " + a.Account.Namespace
		list, err = a.own.CoreV1().Pods(a.Account.Namespace).List(ctx, options)
	}
	switch {
	case apierrors.IsForbidden(err):
		return nil, []Result{{State: Note, Text: "whether pods of Signpost run isn't known, because you may not list pods in " + where}}
	case err != nil:
		return nil, []Result{{State: Unknown, Text: "which pods of Signpost run: " + reason(err)}}
	case len(list.Items) == 0:
		return nil, []Result{{State: Note, Text: fmt.Sprintf("no pod of Signpost runs yet: none in %s has the label %s", where, options.LabelSelector)}}
	}
	var results []Result
	ready, counted := 0, 0
	for _, pod := range list.Items {
		if replaced(pod) {
			continue
		}
		counted++
		if why := notReady(pod); why != "" {
			results = append(results, Result{
				State: Failed, Text: fmt.Sprintf("the pod %s/%s isn't ready: %s", pod.Namespace, pod.Name, why),
				Hint: fmt.Sprintf("kubectl logs --namespace=%s %s, and /ready of its admin server", pod.Namespace, pod.Name),
			})
			continue
		}
		ready++
	}
	if counted == 0 {
		return list.Items, []Result{{State: Failed, Text: fmt.Sprintf("all %d pods of Signpost have failed or are being deleted, and no others run", len(list.Items)), Hint: "see kubectl describe of their Deployment and its ReplicaSets"}}
	}
	return list.Items, append([]Result{{State: OK, Text: fmt.Sprintf("%d of %d pods of Signpost are ready", ready, counted)}}, results...)
}

// replaced reports whether a controller replaces a pod, because the pod is being deleted or has
// failed. An evicted pod stays in that state until the garbage collector of pods removes it.
func replaced(pod corev1.Pod) bool {
	return metav1.GetControllerOf(&pod) != nil && (pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodFailed)
}

// notReady says why a pod isn't ready; empty if it is, or has completed its work, such as --once.
func notReady(pod corev1.Pod) string {
	if pod.Status.Phase == corev1.PodSucceeded {
		return ""
	}
	return whyserved.NotReady(&pod)
}

// election is the leader election of a role.
type election struct {
	section string
	lease   settings.Leader
}

// elections returns the leader elections of the roles.
func (a checker) elections() []election {
	var all []election
	if a.Config.DestinationWrites() && a.Config.Destination.Leader.Elect {
		all = append(all, election{"the writer of destination", a.Config.Destination.Settled().Leader})
	}
	if a.Config.RunsControllers && a.Config.Controllers.Leader.Elect {
		all = append(all, election{settings.ControllersSection, a.Config.Controllers.Leader})
	}
	if a.Config.RunsDNS && a.Config.DNS.Leader.Elect {
		all = append(all, election{settings.DNSSection, a.Config.DNS.Leader})
	}
	return all
}

// leads checks the holder of a Lease.
func (a checker) leads(ctx context.Context, e election, pods []corev1.Pod) Result {
	at := e.lease.ResourceNamespace + "/" + e.lease.ResourceName
	lease, err := a.own.CoordinationV1().Leases(e.lease.ResourceNamespace).Get(ctx, e.lease.ResourceName, metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err):
		return Result{State: Note, Text: fmt.Sprintf("the leader of %s is unknown, because you may not get the Lease %s", e.section, at)}
	case err != nil && !apierrors.IsNotFound(err):
		return Result{State: Unknown, Text: fmt.Sprintf("the leader of %s by the Lease %s is unknown: %s", e.section, at, reason(err))}
	}
	if e.section == settings.DNSSection && err == nil {
		if result, found := a.unled(lease, at); found {
			return result
		}
	}
	holder, since := "", time.Duration(0)
	if err == nil {
		holder, since = holderOf(lease)
	}
	switch {
	case holder == "" && len(pods) > 0:
		return Result{State: Warning, Text: fmt.Sprintf("%s has no leader by the Lease %s", e.section, at), Hint: "a pod becomes the leader once its caches are filled; /ready and the log of each pod say why it doesn't"}
	case holder == "":
		return Result{State: OK, Text: fmt.Sprintf("%s has no other leader by the Lease %s", e.section, at)}
	case holds(pods, holder):
		return Result{State: OK, Text: fmt.Sprintf("%s leads %s by the Lease %s", sanitize.Name(holder), e.section, at)}
	case len(pods) > 0:
		return Result{
			State: Warning, Text: fmt.Sprintf("%s leads %s by the Lease %s, and is none of the pods of Signpost", sanitize.Name(holder), e.section, at),
			Hint: "if it is the program that Signpost replaces, stop it",
		}
	default:
		return Result{
			State: Note, Text: fmt.Sprintf("%s leads %s by the Lease %s, and renewed it %v ago", sanitize.Name(holder), e.section, at, since.Round(time.Second)),
			Hint: "Signpost writes only when this process has ended",
		}
	}
}

// holderOf returns the holder of a Lease, empty for none, and the time since the last renewal.
func holderOf(lease *coordinationv1.Lease) (holder string, since time.Duration) {
	if lease.Spec.HolderIdentity == nil || lease.Spec.RenewTime == nil || lease.Spec.LeaseDurationSeconds == nil {
		return "", 0
	}
	since = time.Since(lease.Spec.RenewTime.Time)
	if since > time.Duration(*lease.Spec.LeaseDurationSeconds)*time.Second {
		return "", since
	}
	return *lease.Spec.HolderIdentity, since
}

// unled finds publishers of the config that aren't published, because another configuration leads
// by the same Lease.
func (a checker) unled(lease *coordinationv1.Lease, at string) (Result, bool) {
	holder, _ := holderOf(lease)
	leadsFor, known := leader.LeadsFor(lease)
	if holder == "" || !known {
		return Result{}, false
	}
	unled, led := configure.Unled(a.Config.DNS.Publishers, leadsFor)
	if len(unled) == 0 {
		return Result{}, false
	}
	return Result{
		State: Failed,
		Text: fmt.Sprintf("nothing would be published for the publishers %s: %s leads by the Lease %s for other publishers or settings (%s)",
			sanitize.List(unled, maxUnled, sanitize.Name), sanitize.Name(holder), at, sanitize.List(led, maxUnled, sanitize.Name)),
		Hint: "if that is another installation, give this one a Lease of its own: dns.leaderElection.resourceName, or --leader-elect-resource-name; if it is this one, give it this config",
	}, true
}

// holds reports whether the holder of a Lease is one of the pods: its name is the hostname, with a
// suffix after an underscore.
func holds(pods []corev1.Pod, holder string) bool {
	host, _, _ := strings.Cut(holder, "_")
	return slices.ContainsFunc(pods, func(p corev1.Pod) bool { return p.Name == host || (p.Spec.HostNetwork && p.Spec.NodeName == host) })
}

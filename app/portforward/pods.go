package portforward

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/kube"
)

// Default ports: AdminPort for a process of several roles, and DNSAdminPort for `signpost dns`.
const (
	destinationPort = 8086
	xdsPort         = 8087
	AdminPort       = 9996
	DNSAdminPort    = 7979
)

// pods returns the running pods of the target, ready ones first, and notes about others.
func (t *Target) pods(ctx context.Context, cfg *rest.Config) (running []corev1.Pod, notes []string, err error) {
	if _, err := labels.Parse(t.Selector); err != nil {
		return nil, nil, settings.Usagef("--selector=%s: %w", t.Selector, err)
	}
	if _, err := kube.Reach(ctx, cfg); err != nil {
		return nil, nil, fmt.Errorf("find the pods of signpost: %w: name the address of a server with --addr to do without", err)
	}
	client, err := corev1client.NewForConfig(cfg)
	if err != nil {
		return nil, nil, fmt.Errorf("make a client of the API server: %w", err)
	}
	list, err := client.Pods(t.Namespace).List(ctx, metav1.ListOptions{LabelSelector: t.Selector, Limit: 500})
	switch {
	case apierrors.IsForbidden(err) && t.Namespace == "":
		return nil, nil, fmt.Errorf("list pods of all namespaces: %w: name the namespace of signpost with --signpost-namespace, or the address of a server with --addr", err)
	case err != nil:
		return nil, nil, fmt.Errorf("list the pods of signpost: %w: name the address of a server with --addr to do without", kube.ExplainRequest(err))
	}
	for _, pod := range list.Items {
		switch {
		case t.Pod != "" && pod.Name != t.Pod:
		case pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil:
			running = append(running, pod)
		case pod.Status.Phase == corev1.PodPending:
			notes = append(notes, fmt.Sprintf("pod %s/%s doesn't run yet", pod.Namespace, pod.Name))
		}
	}
	if len(running) == 0 {
		return nil, nil, t.noPods(notes)
	}
	slices.SortFunc(running, func(a, b corev1.Pod) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	if t.First == One {
		slices.SortStableFunc(running, func(a, b corev1.Pod) int { return cmp.Compare(unready(&a), unready(&b)) })
	}
	if len(running) > maxProcesses {
		notes = append(notes, fmt.Sprintf("only the first %d of %d pods are asked: narrow them down with --selector or --signpost-namespace", maxProcesses, len(running)))
		running = running[:maxProcesses]
	}
	return running, notes, nil
}

func (t *Target) noPods(notes []string) error {
	where := "any namespace"
	if t.Namespace != "" {
		where = "the namespace " + t.Namespace
	}
	text := ""
	for _, note := range notes {
		text += "; " + note
	}
	return fmt.Errorf("no running pod with the label %s in %s%s: say which pods with --selector and --signpost-namespace (in place of Linkerd's controller, --selector linkerd.io/control-plane-component=destination; of ExternalDNS, --selector app.kubernetes.io/name=external-dns), or name the address of a server with --addr", t.Selector, where, text)
}

func unready(pod *corev1.Pod) int {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return 0
		}
	}
	return 1
}

func (t *Target) port(pod *corev1.Pod) int {
	if t.Port != 0 {
		return t.Port
	}
	names, fallback := []string{"inspect", "admin", "admin-http", "metrics"}, AdminPort
	switch t.Server {
	case Destination:
		names, fallback = []string{"grpc", "destination"}, destinationPort
	case XDS:
		names, fallback = []string{"xds"}, xdsPort
	}
	containers := ours(pod.Spec.Containers)
	for _, name := range names {
		for i := range containers {
			for _, p := range containers[i].Ports {
				if p.Name == name {
					return int(p.ContainerPort)
				}
			}
		}
	}
	if t.Server == Admin && slices.ContainsFunc(containers, runsDNS) {
		return DNSAdminPort
	}
	return fallback
}

// ours returns the containers that may run Signpost. If a pod has several containers, only those
// named signpost or after the replaced controller count, because sidecars may declare the same port
// names.
func ours(all []corev1.Container) []corev1.Container {
	var named []corev1.Container
	for i := range all {
		if strings.Contains(all[i].Name, "signpost") || all[i].Name == "destination" || all[i].Name == "external-dns" {
			named = append(named, all[i])
		}
	}
	if len(named) > 0 {
		return named
	}
	return all
}

// runsDNS reports whether a container runs the command dns, whose admin server has a different
// port.
func runsDNS(c corev1.Container) bool {
	if c.Name == "external-dns" {
		return true
	}
	for _, argument := range slices.Concat(c.Command, c.Args) {
		switch argument {
		case "dns":
			return true
		case "run", "destination", "controllers":
			return false
		}
	}
	return false
}

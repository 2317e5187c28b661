package externalworkloads

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/api/workload"
	"github.com/signpostd/signpost/controllers/watched"
	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/kube/kinds"
)

// maxIPs is how many addresses of a workload are used. The API server accepts no endpoint with more.
const maxIPs = 100

// Workloads is the kind workload.linkerd.io/v1beta1 ExternalWorkload, reduced to what slices are made of.
func Workloads() kube.Kind[Workload] {
	k := kube.Retrim(kinds.ExternalWorkloads(), kube.TrimOf(trim))
	k.Same = (*Workload).Equal
	return k
}

func trim(s kube.Scope, w *workload.ExternalWorkload) (*Workload, []kube.Problem) {
	if w.Spec.Problem != "" {
		return nil, []kube.Problem{{Field: "spec", Reason: w.Spec.Problem + "; the last good version stays in use"}}
	}
	trimmed := &Workload{
		Namespace: s.Intern(w.Namespace), Name: w.Name, UID: string(w.UID),
		Labels: kinds.Labels(s, w.Labels), Ready: ready(w),
	}
	var problems []kube.Problem
	if w.Status.Problem != "" {
		problems = append(problems, kube.Problem{Field: "status", Reason: w.Status.Problem + "; the workload counts as not ready"})
	}
	// Invalid addresses become problems of a plan, and so Events on the workload.
	used := w.Spec.WorkloadIPs
	if n := len(used); n > maxIPs {
		used = used[:maxIPs]
		problems = append(problems, kube.Problem{
			Field: "spec.workloadIPs", Reason: fmt.Sprintf("there are %d addresses, and only the first %d are used, because an endpoint can have no more", n, maxIPs),
		})
	}
	for _, ip := range used {
		trimmed.IPs = append(trimmed.IPs, ip.IP)
	}
	for i, p := range w.Spec.Ports {
		if p.Port < 1 || p.Port > 65535 {
			problems = append(problems, kube.Problem{
				Field: fmt.Sprintf("spec.ports[%d].port", i), Reason: fmt.Sprintf("%d is no port; use a number from 1 to 65535", p.Port),
			})
			continue
		}
		trimmed.Ports = append(trimmed.Ports, watched.ContainerPort{Name: s.Intern(p.Name), Number: p.Port, Protocol: p.Protocol})
	}
	return trimmed, problems
}

// ready returns the condition Ready (spec/destination.md §8.2).
func ready(w *workload.ExternalWorkload) bool {
	for _, c := range w.Status.Conditions {
		if c.Type == workload.ConditionReady && c.Status == metav1.ConditionTrue {
			return true
		}
	}
	return false
}

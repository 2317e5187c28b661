package endpoints

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/signpostd/signpost/controllers/watched"
)

// included reports whether the Endpoints of a Service include a pod that it selects (spec/endpoints.md §5.3).
func included(service *corev1.Service, pod *watched.Pod) bool {
	return !pod.Finished && (pod.IP != "" || len(pod.IPs) > 0) &&
		(!pod.Terminating || service.Spec.PublishNotReadyAddresses)
}

// ready reports whether a pod is listed as ready (§5.7).
func ready(service *corev1.Service, pod *watched.Pod) bool {
	return service.Spec.PublishNotReadyAddresses || pod.Ready == corev1.ConditionTrue
}

// hostname returns the hostname of a pod in the Endpoints of a Service (§5.5).
func hostname(service *corev1.Service, pod *watched.Pod) string {
	if pod.Subdomain == service.Name && pod.Namespace == service.Namespace {
		return pod.Hostname
	}
	return ""
}

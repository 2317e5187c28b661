package nodes

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Annotations with which a test or a demo steers a simulated pod. They may change while the pod runs.
const (
	// AnnotationReady set to "false" makes the pod not ready.
	AnnotationReady = "signpost.dev/ready"
	// AnnotationPhase set to "Succeeded" or "Failed" ends the pod's containers.
	AnnotationPhase = "signpost.dev/phase"
	// AnnotationTerminate is a duration for which a deleted pod stays terminating; it is gone at once
	// without it.
	AnnotationTerminate = "signpost.dev/terminate-after"
)

// observation is what the simulator knows about a pod beside the object itself.
type observation struct {
	pod     *corev1.Pod
	host    addresses
	ip      addresses
	started bool // the containers have run for the ready delay
	now     metav1.Time
}

// podStatus is the pure heart of the simulator: the status that the pod should have. It starts from
// the present one, so conditions that others own (PodScheduled, readiness gates) and times that did
// not change stay.
func podStatus(o observation) corev1.PodStatus {
	status := *o.pod.Status.DeepCopy()
	status.ObservedGeneration = o.pod.Generation
	status.HostIP = o.host.v4.String()
	status.HostIPs = []corev1.HostIP{{IP: o.host.v4.String()}, {IP: o.host.v6.String()}}
	status.PodIP = o.ip.v4.String()
	status.PodIPs = []corev1.PodIP{{IP: o.ip.v4.String()}, {IP: o.ip.v6.String()}}
	status.Phase = corev1.PodRunning
	if status.StartTime == nil {
		status.StartTime = &o.now
	}
	if phase := endedPhase(o.pod); phase != "" {
		status.Phase = phase
	}
	running := status.Phase == corev1.PodRunning
	containersReady := running && o.started && o.pod.Annotations[AnnotationReady] != "false"
	setCondition(&status, corev1.PodReadyToStartContainers, running, o)
	setCondition(&status, corev1.PodInitialized, true, o)
	setCondition(&status, corev1.ContainersReady, containersReady, o)
	setCondition(&status, corev1.PodReady, containersReady && gatesOpen(o.pod), o)
	setContainers(&status, containersReady, o)
	return status
}

// reported returns the part of a pod's status that is its node's to write. The rest is what others
// had written when the store last heard of the pod; to write that again could undo a later change,
// such as a readiness gate that has opened.
func reported(status corev1.PodStatus) corev1.PodStatus {
	report := corev1.PodStatus{
		ObservedGeneration:    status.ObservedGeneration,
		Phase:                 status.Phase,
		HostIP:                status.HostIP,
		HostIPs:               status.HostIPs,
		PodIP:                 status.PodIP,
		PodIPs:                status.PodIPs,
		StartTime:             status.StartTime,
		InitContainerStatuses: status.InitContainerStatuses,
		ContainerStatuses:     status.ContainerStatuses,
	}
	for _, condition := range status.Conditions {
		switch condition.Type {
		case corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady:
			report.Conditions = append(report.Conditions, condition)
		}
	}
	return report
}

// endedPhase returns the phase that the annotation asks for, if it is one that ends a pod.
func endedPhase(pod *corev1.Pod) corev1.PodPhase {
	switch phase := corev1.PodPhase(pod.Annotations[AnnotationPhase]); phase {
	case corev1.PodSucceeded, corev1.PodFailed:
		return phase
	default:
		return ""
	}
}

// gatesOpen reports whether every readiness gate of the pod has a true condition.
func gatesOpen(pod *corev1.Pod) bool {
	open := map[corev1.PodConditionType]bool{}
	for _, condition := range pod.Status.Conditions {
		open[condition.Type] = condition.Status == corev1.ConditionTrue
	}
	for _, gate := range pod.Spec.ReadinessGates {
		if !open[gate.ConditionType] {
			return false
		}
	}
	return true
}

// setCondition changes a condition; its transition time moves only when its status does.
func setCondition(status *corev1.PodStatus, kind corev1.PodConditionType, on bool, o observation) {
	want := corev1.PodCondition{Type: kind, Status: corev1.ConditionFalse, LastTransitionTime: o.now, ObservedGeneration: o.pod.Generation}
	if on {
		want.Status = corev1.ConditionTrue
	}
	for i, have := range status.Conditions {
		if have.Type != kind {
			continue
		}
		if have.Status == want.Status {
			want.LastTransitionTime = have.LastTransitionTime
		}
		status.Conditions[i] = want
		return
	}
	status.Conditions = append(status.Conditions, want)
}

// setContainers writes the container statuses: init containers are done, unless they are sidecars;
// the others run.
func setContainers(status *corev1.PodStatus, ready bool, o observation) {
	running := status.Phase == corev1.PodRunning
	status.InitContainerStatuses, status.ContainerStatuses = nil, nil
	for _, container := range o.pod.Spec.InitContainers {
		sidecar := container.RestartPolicy != nil && *container.RestartPolicy == corev1.ContainerRestartPolicyAlways
		if sidecar && running {
			status.InitContainerStatuses = append(status.InitContainerStatuses, runningContainer(container, ready, *status.StartTime))
			continue
		}
		done := endedContainer(container, *status.StartTime, 0)
		done.Ready = true
		status.InitContainerStatuses = append(status.InitContainerStatuses, done)
	}
	for _, container := range o.pod.Spec.Containers {
		if running {
			status.ContainerStatuses = append(status.ContainerStatuses, runningContainer(container, ready, *status.StartTime))
			continue
		}
		exit := int32(0)
		if status.Phase == corev1.PodFailed {
			exit = 1
		}
		status.ContainerStatuses = append(status.ContainerStatuses, endedContainer(container, *status.StartTime, exit))
	}
}

func runningContainer(container corev1.Container, ready bool, since metav1.Time) corev1.ContainerStatus {
	started := true
	return corev1.ContainerStatus{
		Name: container.Name, Image: container.Image, ImageID: "simulated://" + container.Image, ContainerID: "simulated://" + container.Name,
		Ready: ready, Started: &started,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: since}},
	}
}

func endedContainer(container corev1.Container, at metav1.Time, exit int32) corev1.ContainerStatus {
	started := false
	reason := "Completed"
	if exit != 0 {
		reason = "Error"
	}
	return corev1.ContainerStatus{
		Name: container.Name, Image: container.Image, ImageID: "simulated://" + container.Image, ContainerID: "simulated://" + container.Name,
		Started: &started,
		State:   corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: exit, Reason: reason, StartedAt: at, FinishedAt: at}},
	}
}

// terminationLeft returns how long a deleted pod still has to stay.
func terminationLeft(pod *corev1.Pod, now time.Time) time.Duration {
	after, err := time.ParseDuration(pod.Annotations[AnnotationTerminate])
	if err != nil {
		return 0
	}
	// The deletion timestamp lies the grace period in the future.
	begun := pod.DeletionTimestamp.Time
	if grace := pod.DeletionGracePeriodSeconds; grace != nil {
		begun = begun.Add(-time.Duration(*grace) * time.Second)
	}
	return begun.Add(after).Sub(now)
}

package workload

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	// mostPods is the maximum number of pods of an app.
	mostPods = 30
	// reuseAfter is how long the address of a deleted pod isn't reused.
	reuseAfter = 5 * time.Second
)

// startPod creates a pod, which runs and is ready a moment later.
func (s *simulation) startPod(app string) {
	if len(s.pods[app]) >= mostPods {
		return
	}
	s.serial[app]++
	port := int32(8080)
	if s.chance(15) {
		port = 8081 // a named port with two numbers needs two slices
	}
	pod := s.newPod(fmt.Sprint(app, "-", s.serial[app]), app, s.rng.IntN(Nodes), port)
	s.addPod(app, pod)
}

// startMember creates the pod of a StatefulSet with this number, under the same name as its predecessor.
func (s *simulation) startMember(app string, number int) {
	member := fmt.Sprint(app, "-", number)
	if _, there := s.objects["Pod "+member]; there {
		return
	}
	pod := s.newPod(member, app, number%Nodes, 8080)
	pod.Spec.Hostname, pod.Spec.Subdomain = member, app
	s.addPod(app, pod)
}

func (s *simulation) addPod(app string, pod *corev1.Pod) {
	if s.chance(20) {
		pod.Finalizers = []string{Finalizer}
	}
	s.pods[app] = append(s.pods[app], pod.Name)
	s.create(pod)
	ready := s.chance(85)
	s.after(s.between(50*time.Millisecond, 600*time.Millisecond), func() { s.run(pod, ready) })
	if !ready {
		s.after(s.between(700*time.Millisecond, 3*time.Second), func() { s.setReady(pod, true) })
	}
}

// run sets the address and the phase of a pod.
func (s *simulation) run(pod *corev1.Pod, ready bool) {
	if !s.isThere(pod) || pod.DeletionTimestamp != nil {
		return
	}
	e := Edit{Verb: SetStatus, Object: pod, Fields: []string{"/status/phase", "/status/hostIP", "/status/hostIPs", "/status/podIP", "/status/podIPs", "/status/conditions"}}
	if old, ok := s.usedAddress(); ok {
		pod.Status.PodIP, e.After, e.Gap = old.address, old.edit, reuseAfter
	} else {
		pod.Status.PodIP = s.newAddress()
	}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.PodIPs = []corev1.PodIP{{IP: pod.Status.PodIP}}
	for i := range Nodes {
		if pod.Spec.NodeName == nodeName(i) {
			pod.Status.HostIP = nodeAddress(i)
		}
	}
	pod.Status.HostIPs = []corev1.HostIP{{IP: pod.Status.HostIP}}
	pod.Status.Conditions = podCondition(ready, s.now)
	s.emit(e)
}

// usedAddress sometimes returns the address of a deleted pod.
func (s *simulation) usedAddress() (freed, bool) {
	if len(s.freed) == 0 || s.now-s.freed[0].at < reuseAfter || !s.chance(10) {
		return freed{}, false
	}
	old := s.freed[0]
	s.freed = s.freed[1:]
	return old, true
}

// isThere reports whether the pod still exists, and was not replaced by another one of its name.
func (s *simulation) isThere(pod *corev1.Pod) bool { return find[*corev1.Pod](s, name(pod)) == pod }

func (s *simulation) setReady(pod *corev1.Pod, ready bool) {
	if !s.isThere(pod) || pod.Status.PodIP == "" {
		return
	}
	pod.Status.Conditions = podCondition(ready, s.now)
	s.setStatus(pod, "/status/conditions")
}

func isReady(pod *corev1.Pod) bool {
	return len(pod.Status.Conditions) > 0 && pod.Status.Conditions[0].Status == corev1.ConditionTrue
}

// flip changes the readiness of a pod of an app.
func (s *simulation) flip(app string) {
	if len(s.pods[app]) == 0 {
		return
	}
	pod := find[*corev1.Pod](s, "Pod "+pick(s, s.pods[app]...))
	was := isReady(pod)
	s.setReady(pod, !was)
	if was { // most pods should be ready most of the time
		s.after(s.between(200*time.Millisecond, 5*time.Second), func() { s.setReady(pod, true) })
	}
}

// stopPod ends a pod in one of three ways: at once, with a grace period in which it isn't ready, or with a
// finalizer that is removed later.
func (s *simulation) stopPod(app, podName string) {
	i := slices.Index(s.pods[app], podName)
	if i < 0 {
		return
	}
	s.pods[app] = slices.Delete(slices.Clone(s.pods[app]), i, i+1)
	pod := find[*corev1.Pod](s, "Pod "+podName)
	switch {
	case len(pod.Finalizers) > 0:
		s.terminate(pod, 0)
		s.after(s.between(time.Second, 4*time.Second), func() { s.free(pod, s.finish(pod)) })
	case s.chance(50):
		s.terminate(pod, 30)
		s.after(s.between(time.Second, 4*time.Second), func() { s.free(pod, s.remove(pod)) })
	default:
		s.free(pod, s.remove(pod))
		return
	}
	if s.chance(70) {
		s.after(s.between(200*time.Millisecond, 900*time.Millisecond), func() { s.setReady(pod, false) })
	}
}

// free stores the address of a deleted pod for reuse.
func (s *simulation) free(pod *corev1.Pod, edit int) {
	if pod.Status.PodIP != "" {
		s.freed = append(s.freed, freed{pod.Status.PodIP, s.now, edit})
	}
}

package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// reconcile brings one pod to where its node would have it.
func (s *Simulator) reconcile(ctx context.Context, key string) error {
	obj, exists, err := s.pods.GetByKey(key)
	if err != nil {
		return fmt.Errorf("look up pod %s: %w", key, err)
	}
	if !exists {
		return nil
	}
	pod := obj.(*corev1.Pod)
	pool, ours := s.pools[pod.Spec.NodeName]
	if !ours {
		return nil
	}
	if pod.DeletionTimestamp != nil {
		if left := terminationLeft(pod, time.Now()); left > 0 {
			s.queue.AddAfter(key, left)
		} else {
			return s.remove(ctx, pod)
		}
	}
	if ended(pod) {
		return nil
	}
	return s.report(ctx, pod, pool)
}

// ended reports whether the pod has reached a final phase, which nothing may leave.
func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// remove deletes a terminating pod for good, as a kubelet does when the containers have ended.
func (s *Simulator) remove(ctx context.Context, pod *corev1.Pod) error {
	err := s.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: new(int64),
		Preconditions:      &metav1.Preconditions{UID: &pod.UID},
	})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("remove terminated pod: %w", err)
	}
	return nil
}

// report writes the pod's status if it differs from what it should be.
func (s *Simulator) report(ctx context.Context, pod *corev1.Pod, pool *pool) error {
	host := hostAddresses(pool.node)
	ip := host
	if !pod.Spec.HostNetwork {
		var err error
		if ip, err = pool.take(pod.UID); err != nil {
			return err
		}
	}
	left := s.readyIn(pod)
	if !s.known(pod) {
		s.forget(pod) // it went away while this worker took its addresses
		return nil
	}
	if left > 0 {
		s.queue.AddAfter(pod.Namespace+"/"+pod.Name, left)
	}
	want := podStatus(observation{pod: pod, host: host, ip: ip, started: left <= 0, now: metav1.Now()})
	if equality.Semantic.DeepEqual(pod.Status, want) {
		return nil
	}
	return s.patchStatus(ctx, pod, want)
}

// readyIn returns how long the pod's containers still have to run before they are ready.
func (s *Simulator) readyIn(pod *corev1.Pod) time.Duration {
	if pod.Status.StartTime == nil {
		s.started.LoadOrStore(pod.UID, time.Now())
	}
	if since, ok := s.started.Load(pod.UID); ok {
		return s.readyDelay - time.Since(since.(time.Time))
	}
	return 0 // started by an earlier run of the simulator
}

// known reports whether the store still has this very pod, not another one of the same name.
func (s *Simulator) known(pod *corev1.Pod) bool {
	obj, exists, err := s.pods.Get(pod)
	return err == nil && exists && obj.(*corev1.Pod).UID == pod.UID
}

// forget drops what the simulator remembers of a pod that is no longer in the store.
func (s *Simulator) forget(pod *corev1.Pod) {
	s.started.Delete(pod.UID)
	if pool, ok := s.pools[pod.Spec.NodeName]; ok {
		pool.give(pod.UID)
	}
}

// patchStatus writes want. A pod that has gone or was replaced under the same name is left alone:
// the watch tells.
func (s *Simulator) patchStatus(ctx context.Context, pod *corev1.Pod, want corev1.PodStatus) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID},
		"status":   reported(want),
	})
	if err != nil {
		return fmt.Errorf("encode pod status: %w", err)
	}
	_, err = s.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("write pod status: %w", err)
	}
	return nil
}

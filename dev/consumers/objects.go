package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// podPort is the port on which pods answer, and that of their Services.
const podPort = 8080

var web = map[string]string{"app": "web"}

// createNode creates a node that is ready, in a zone of its own.
func (s *side) createNode(ctx context.Context, name string, addresses ...string) error {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelTopologyZone: "zone-" + name}},
		Status: corev1.NodeStatus{
			Conditions:  readyCondition(corev1.ConditionTrue),
			Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")},
		},
	}
	for _, address := range addresses {
		node.Status.Addresses = append(node.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: address})
	}
	if _, err := s.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create node %s: %w", name, err)
	}
	return nil
}

func readyCondition(status corev1.ConditionStatus) []corev1.NodeCondition {
	now := metav1.Now()
	return []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status, LastHeartbeatTime: now, LastTransitionTime: now}}
}

// setNode changes the condition Ready of a node.
func (s *side) setNode(ctx context.Context, name string, status corev1.ConditionStatus) error {
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": readyCondition(status)}})
	if err != nil {
		return err
	}
	_, err = s.client.CoreV1().Nodes().Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		return fmt.Errorf("set node %s to ready %s: %w", name, status, err)
	}
	return nil
}

func (s *side) deleteNode(ctx context.Context, name string) error {
	if err := s.client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("delete node %s: %w", name, err)
	}
	return nil
}

// stage is a namespace of a side with a Service, in which a scene is played.
type stage struct {
	*side
	namespace string
	index     int // of the scene: addresses of different scenes differ
	families  []corev1.IPFamily
}

// createStage creates a namespace in which pods can be created. The namespaces of both sides have the same
// name. It renews the heartbeat of the node too, whose pods would become not ready after ten minutes without.
func (s *side) createStage(ctx context.Context, index int, families ...corev1.IPFamily) (*stage, error) {
	if err := s.setNode(ctx, proxyNode, corev1.ConditionTrue); err != nil {
		return nil, err
	}
	st := &stage{side: s, namespace: fmt.Sprintf("scene-%d", index), index: index, families: families}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: st.namespace}}
	if _, err := s.client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return nil, fmt.Errorf("create a namespace: %w", err)
	}
	return st, s.Await(ctx, "the default service account exists", func() bool {
		_, err := s.client.CoreV1().ServiceAccounts(st.namespace).Get(ctx, "default", metav1.GetOptions{})
		return err == nil
	})
}

// createService creates the Service web with addresses that clients know.
func (st *stage) createService(ctx context.Context, headless bool) error {
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: corev1.ServiceSpec{
			Selector: web, IPFamilies: st.families,
			Ports: []corev1.ServicePort{{Name: "http", Port: podPort, TargetPort: intstr.FromInt32(podPort)}},
		},
	}
	policy := corev1.IPFamilyPolicySingleStack
	if len(st.families) == 2 {
		policy = corev1.IPFamilyPolicyRequireDualStack
	}
	service.Spec.IPFamilyPolicy = &policy
	for _, family := range st.families {
		if !headless {
			service.Spec.ClusterIPs = append(service.Spec.ClusterIPs, serviceAddress(family, st.index).String())
		}
	}
	if headless {
		service.Spec.ClusterIPs = []string{corev1.ClusterIPNone}
	}
	service.Spec.ClusterIP = service.Spec.ClusterIPs[0]
	if _, err := st.client.CoreV1().Services(st.namespace).Create(ctx, service, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create Service: %w", err)
	}
	return nil
}

// setFamilies changes the families of the Service. It has the same addresses whenever it has the same
// families.
func (st *stage) setFamilies(ctx context.Context, families ...corev1.IPFamily) error {
	policy, addresses := corev1.IPFamilyPolicySingleStack, []string{}
	if len(families) == 2 {
		policy = corev1.IPFamilyPolicyRequireDualStack
	}
	for _, family := range families {
		addresses = append(addresses, serviceAddress(family, st.index).String())
	}
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{
		"ipFamilyPolicy": policy, "ipFamilies": families, "clusterIPs": addresses,
	}})
	if err != nil {
		return err
	}
	_, err = st.client.CoreV1().Services(st.namespace).Patch(ctx, "web", types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("set the families of the Service to %v: %w", families, err)
	}
	return nil
}

// pod is a pod of a stage.
type pod struct {
	name      string
	node      string
	addresses []netip.Addr
}

// newPod returns a pod that has the n-th address of each family.
func (st *stage) newPod(name, node string, n int) pod {
	p := pod{name: name, node: node}
	for _, family := range st.families {
		p.addresses = append(p.addresses, podAddress(family, st.index, n))
	}
	return p
}

// start lets a pod serve, creates it, and makes it ready. With hostnames it is one of a StatefulSet whose
// Service is web.
func (st *stage) start(ctx context.Context, p pod, hostnames bool) error {
	for _, address := range p.addresses {
		if err := st.host.Serve(address, podPort); err != nil {
			return err
		}
	}
	object := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: p.name, Labels: web},
		Spec:       corev1.PodSpec{NodeName: p.node, Containers: []corev1.Container{{Name: "web", Image: "web"}}},
	}
	if hostnames {
		object.Spec.Hostname, object.Spec.Subdomain = p.name, "web"
	}
	if _, err := st.client.CoreV1().Pods(st.namespace).Create(ctx, object, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create pod %s: %w", p.name, err)
	}
	return st.setReady(ctx, p, true)
}

// setReady writes the status of a pod as its node does, or for a lost node the node controller.
func (st *stage) setReady(ctx context.Context, p pod, ready bool) error {
	condition := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.Now()}
	if ready {
		condition.Status = corev1.ConditionTrue
	}
	status := corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: p.addresses[0].String(), Conditions: []corev1.PodCondition{condition},
	}
	for _, address := range p.addresses {
		status.PodIPs = append(status.PodIPs, corev1.PodIP{IP: address.String()})
	}
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return err
	}
	pods := st.client.CoreV1().Pods(st.namespace)
	if _, err := pods.Patch(ctx, p.name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
		return fmt.Errorf("set the status of pod %s: %w", p.name, err)
	}
	return nil
}

// terminate deletes a pod, which serves on until end.
func (st *stage) terminate(ctx context.Context, p pod) error {
	if err := st.client.CoreV1().Pods(st.namespace).Delete(ctx, p.name, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("delete pod %s: %w", p.name, err)
	}
	return nil
}

// end ends a pod that terminates.
func (st *stage) end(ctx context.Context, p pod) error {
	for _, address := range p.addresses {
		st.host.End(address)
	}
	now := int64(0)
	err := st.client.CoreV1().Pods(st.namespace).Delete(ctx, p.name, metav1.DeleteOptions{GracePeriodSeconds: &now})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("remove pod %s: %w", p.name, err)
	}
	return nil
}

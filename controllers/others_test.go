package controllers_test

import (
	"context"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/signpostd/signpost/api/workload"
	"github.com/signpostd/signpost/kube/kinds"
)

// external returns the client of ExternalWorkloads.
func (s *fixture) external() dynamic.ResourceInterface {
	return s.cluster.Dynamic.Resource(kinds.ExternalWorkloads().Resource).Namespace(s.ns)
}

// workload creates an ExternalWorkload with the label app that is ready and serves
// port 8080.
func (s *fixture) workload(name, app string, ips []string, edits ...func(*workload.ExternalWorkload)) {
	s.Helper()
	w := &workload.ExternalWorkload{
		TypeMeta:   metav1.TypeMeta{APIVersion: workload.SchemeGroupVersion.String(), Kind: "ExternalWorkload"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": app}},
		Spec: workload.ExternalWorkloadSpec{
			MeshTLS: workload.MeshTLS{Identity: "w.example.org", ServerName: "w.example.org"},
			Ports:   []workload.Port{{Port: 8080, Protocol: corev1.ProtocolTCP}},
		},
		Status: workload.ExternalWorkloadStatus{Conditions: []workload.Condition{{Type: workload.ConditionReady, Status: metav1.ConditionTrue}}},
	}
	workloadIPs(ips...)(w)
	for _, edit := range edits {
		edit(w)
	}
	made := must[*unstructured.Unstructured](s)(s.external().Create(s.Context(), s.untyped(w), metav1.CreateOptions{}))
	made.Object["status"] = s.untyped(w).Object["status"]
	must[*unstructured.Unstructured](s)(s.external().UpdateStatus(s.Context(), made, metav1.UpdateOptions{}))
}

func workloadIPs(ips ...string) func(*workload.ExternalWorkload) {
	return func(w *workload.ExternalWorkload) {
		w.Spec.WorkloadIPs = nil
		for _, ip := range ips {
			w.Spec.WorkloadIPs = append(w.Spec.WorkloadIPs, workload.WorkloadIP{IP: ip})
		}
	}
}

func serving(list ...workload.Port) func(*workload.ExternalWorkload) {
	return func(w *workload.ExternalWorkload) { w.Spec.Ports = list }
}

func workloadReady(status metav1.ConditionStatus) func(*workload.ExternalWorkload) {
	return func(w *workload.ExternalWorkload) { w.Status.Conditions[0].Status = status }
}

func inZone(zone string) func(*workload.ExternalWorkload) {
	return func(w *workload.ExternalWorkload) {
		metav1.SetMetaDataLabel(&w.ObjectMeta, corev1.LabelTopologyZone, zone)
	}
}

// editWorkload changes an ExternalWorkload and its status.
func (s *fixture) editWorkload(name string, edits ...func(*workload.ExternalWorkload)) {
	s.Helper()
	stored := must[*unstructured.Unstructured](s)(s.external().Get(s.Context(), name, metav1.GetOptions{}))
	text, err := stored.MarshalJSON()
	s.must(err)
	w := &workload.ExternalWorkload{}
	s.must(json.Unmarshal(text, w))
	for _, edit := range edits {
		edit(w)
	}
	changed := must[*unstructured.Unstructured](s)(s.external().Update(s.Context(), s.untyped(w), metav1.UpdateOptions{}))
	changed.Object["status"] = s.untyped(w).Object["status"]
	must[*unstructured.Unstructured](s)(s.external().UpdateStatus(s.Context(), changed, metav1.UpdateOptions{}))
}

func (s *fixture) untyped(w *workload.ExternalWorkload) *unstructured.Unstructured {
	s.Helper()
	text, err := json.Marshal(w)
	s.must(err)
	u := &unstructured.Unstructured{}
	s.must(u.UnmarshalJSON(text))
	return u
}

// The nodes that always exist, in the zones a and b. They have a control plane label, so that they are left
// out of the distribution over zones.
const nodeA, nodeB = "node-a", "node-b"

// node creates a node in a zone, or without a zone, and deletes it at the end of the test.
func (s *fixture) node(name, zone string, edits ...func(*corev1.Node)) {
	s.Helper()
	s.must(makeNode(s.Context(), s.client, newNode(name, zone, edits...)))
	s.Cleanup(func() { s.deleteNode(name) })
}

func (s *fixture) deleteNode(name string) {
	s.Helper()
	err := s.client.CoreV1().Nodes().Delete(context.Background(), name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		s.Error(err)
	}
}

func newNode(name, zone string, edits ...func(*corev1.Node)) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	zoned(zone)(node)
	for _, edit := range edits {
		edit(node)
	}
	return node
}

func makeNode(ctx context.Context, client kubernetes.Interface, node *corev1.Node) error {
	status := node.Status
	made, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	made.Status = status
	_, err = client.CoreV1().Nodes().UpdateStatus(ctx, made, metav1.UpdateOptions{})
	return err
}

func controlPlane(n *corev1.Node) { n.Labels["node-role.kubernetes.io/control-plane"] = "" }

func zoned(zone string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		delete(n.Labels, corev1.LabelTopologyZone)
		if zone != "" {
			metav1.SetMetaDataLabel(&n.ObjectMeta, corev1.LabelTopologyZone, zone)
		}
	}
}

func (s *fixture) editNode(name string, edits ...func(*corev1.Node)) {
	s.Helper()
	edit(s, s.client.CoreV1().Nodes(), name, edits...)
}

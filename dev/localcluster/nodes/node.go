package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// heartbeat is the time between two renewals of a node's lease. A kubelet takes 10 s; the controller manager of the
// local cluster has a grace period of ten minutes, and fewer writes disturb measurements less.
const heartbeat = 30 * time.Second

// zones is how many zones the nodes are spread over.
const zones = 3

func nodeName(index int) string { return fmt.Sprintf("node-%d", index) }

// node returns the Node object: spec and status as a kubelet would register it.
func node(index int) *corev1.Node {
	name := nodeName(index)
	host := hostAddresses(index)
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelHostname:       name,
			corev1.LabelOSStable:       "linux",
			corev1.LabelArchStable:     "amd64",
			corev1.LabelTopologyRegion: "local",
			corev1.LabelTopologyZone:   fmt.Sprintf("zone-%d", index%zones),
		}},
		Spec: corev1.NodeSpec{
			PodCIDR:    podRanges(index)[0],
			PodCIDRs:   podRanges(index),
			ProviderID: "localcluster://" + name,
		},
		Status: corev1.NodeStatus{
			Capacity:    capacity(),
			Allocatable: capacity(),
			Conditions:  nodeConditions(metav1.Now()),
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: host.v4.String()},
				{Type: corev1.NodeInternalIP, Address: host.v6.String()},
				{Type: corev1.NodeHostName, Address: name},
			},
			NodeInfo: corev1.NodeSystemInfo{
				OperatingSystem: "linux", Architecture: "amd64", KubeletVersion: "localcluster", OSImage: "simulated",
			},
		},
	}
}

func capacity() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("10000"),
		corev1.ResourceMemory:           resource.MustParse("100Ti"),
		corev1.ResourceEphemeralStorage: resource.MustParse("100Ti"),
		corev1.ResourcePods:             *resource.NewQuantity(podsPerNode, resource.DecimalSI),
	}
}

func nodeConditions(now metav1.Time) []corev1.NodeCondition {
	condition := func(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason string) corev1.NodeCondition {
		return corev1.NodeCondition{Type: kind, Status: status, Reason: reason, LastHeartbeatTime: now, LastTransitionTime: now}
	}
	return []corev1.NodeCondition{
		condition(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory"),
		condition(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure"),
		condition(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID"),
		condition(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady"),
	}
}

// register creates the node, or makes an existing one ready again.
func (s *Simulator) register(ctx context.Context, index int) error {
	want := node(index)
	client := s.client.CoreV1().Nodes()
	have, err := client.Create(ctx, want, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		have, err = client.Get(ctx, want.Name, metav1.GetOptions{})
	}
	if err != nil {
		return fmt.Errorf("register node %s: %w", want.Name, err)
	}
	have.Status = want.Status
	if _, err := client.UpdateStatus(ctx, have, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("register node %s: set status: %w", want.Name, err)
	}
	return s.renew(ctx, index)
}

// renew writes the node's lease: the heartbeat.
func (s *Simulator) renew(ctx context.Context, index int) error {
	name := nodeName(index)
	seconds := int32((2 * heartbeat).Seconds())
	now := metav1.NewMicroTime(time.Now())
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: corev1.NamespaceNodeLease},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &name, LeaseDurationSeconds: &seconds, RenewTime: &now},
	}
	patch, err := json.Marshal(map[string]any{"spec": lease.Spec})
	if err != nil {
		return fmt.Errorf("renew lease of node %s: encode: %w", name, err)
	}
	leases := s.client.CoordinationV1().Leases(lease.Namespace)
	_, err = leases.Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		_, err = leases.Create(ctx, lease, metav1.CreateOptions{})
	}
	if err != nil {
		return fmt.Errorf("renew lease of node %s: %w", name, err)
	}
	return nil
}

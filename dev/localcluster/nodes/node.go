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

// heartbeat is the time between two renewals of a node's lease. A kubelet takes 10 s; the
// controller manager of the local cluster has a grace period of ten minutes, and fewer writes
// disturb measurements less.
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

// register creates the node with its status in it, or takes over the one of an earlier start.
//
// No write of a node or a lease names the version that it was made from. kube-controller-manager
// labels, annotates and taints a node from the moment that it sees it, so a write that does would
// lose against it sooner or later: real kubelets send patches, too.
func (s *Simulator) register(ctx context.Context, index int) error {
	for {
		want := node(index)
		_, err := s.client.CoreV1().Nodes().Create(ctx, want, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			err = s.takeOver(ctx, want)
			if apierrors.IsNotFound(err) {
				continue // somebody deleted it in between
			}
		}
		if err != nil {
			return fmt.Errorf("register node %s: %w", want.Name, err)
		}
		return nil
	}
}

// takeOver gives the existing node the labels and the status of want. What others wrote stays: their labels,
// annotations, taints and conditions. The spec needs no write: nothing in it can change.
func (s *Simulator) takeOver(ctx context.Context, want *corev1.Node) error {
	labels, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": want.Labels}})
	if err != nil {
		return fmt.Errorf("encode labels: %w", err)
	}
	client := s.client.CoreV1().Nodes()
	have, err := client.Patch(ctx, want.Name, types.StrategicMergePatchType, labels, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("set labels: %w", err)
	}
	keepTransitions(want.Status.Conditions, have.Status.Conditions)
	status, err := json.Marshal(map[string]any{"status": statusPatch{want.Status, replaceList(want.Status.Addresses)}})
	if err != nil {
		return fmt.Errorf("encode status: %w", err)
	}
	if _, err := client.Patch(ctx, want.Name, types.StrategicMergePatchType, status, metav1.PatchOptions{}, "status"); err != nil {
		return fmt.Errorf("set status: %w", err)
	}
	return nil
}

// statusPatch is a node's status with other addresses in their place.
type statusPatch struct {
	corev1.NodeStatus
	Addresses []any `json:"addresses"`
}

// replaceList returns the addresses as a patch that replaces the whole list. The API server would
// merge it by type otherwise, and of a node's two addresses of one type keep one.
func replaceList(addresses []corev1.NodeAddress) []any {
	patch := []any{map[string]string{"$patch": "replace"}}
	for _, address := range addresses {
		patch = append(patch, address)
	}
	return patch
}

// keepTransitions gives each wanted condition that already had its status the time at which it got it.
func keepTransitions(want, have []corev1.NodeCondition) {
	for i := range want {
		for _, old := range have {
			if old.Type == want[i].Type && old.Status == want[i].Status {
				want[i].LastTransitionTime = old.LastTransitionTime
			}
		}
	}
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

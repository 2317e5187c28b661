package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/signpostd/signpost/dev/clienttest"
	"github.com/signpostd/signpost/internal/childprocess"
)

// zones are those of the nodes; the last node has none.
var zones = []string{"z1", "z2", "z2", ""}

func nodeName(i int) string { return fmt.Sprintf("diff-%d", i) }

// ownNode stands for the one node that a sequence has for itself, deletes and creates again. Nodes
// have no namespace, so the node is named after that of the sequence.
const ownNode = "own"

// nodeIn returns the name of a node in the sequence of a namespace.
func nodeIn(namespace, node string) string {
	if node == ownNode {
		return ownNode + "-" + namespace
	}
	return node
}

// side is one of the two clusters.
type side struct {
	clienttest.Programs
	name   string // kubernetes or signpost, after whose controllers write
	client kubernetes.Interface
	feed   *feed
	pulse  pulse
	// admin is where Signpost serves its metrics; empty where it doesn't run.
	admin string
}

// startSide starts a cluster and the controllers that write in it.
func startSide(ctx context.Context, dir, controllers string) (*side, error) {
	s := &side{name: controllers, Programs: clienttest.Programs{Dir: filepath.Join(dir, controllers), Target: "build"}}
	if err := s.start(ctx); err != nil {
		s.Stop()
		return nil, fmt.Errorf("start the cluster with the controllers of %s: %w", controllers, err)
	}
	return s, nil
}

func (s *side) start(ctx context.Context) error {
	// The garbage collection of pods would fail the pods of deleted nodes at its own pace in each cluster.
	kubeconfig, err := s.StartCluster(ctx, "--components", "etcd,kube-apiserver,kube-controller-manager", "--endpoint-controllers", s.name, "--pod-gc=false")
	if err != nil {
		return err
	}
	config, err := clienttest.ClientConfig(kubeconfig)
	if err != nil {
		return err
	}
	if s.client, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	if s.name == signpost {
		if err := s.startSignpost(ctx, kubeconfig); err != nil {
			return err
		}
	}
	if err := s.createNodes(ctx); err != nil {
		return err
	}
	s.feed, err = startFeed(ctx, s.client)
	return err
}

func (s *side) startSignpost(ctx context.Context, kubeconfig string) error {
	admin, err := childprocess.Address()
	if err != nil {
		return err
	}
	_, err = s.Launch("signpost", exec.Command("bin/signpost", "controllers", "--kubeconfig", kubeconfig, "--metrics-addr", admin,
		"--leader-elect=false", "--controllers=*,-externalworkloads"))
	if err != nil {
		return err
	}
	s.admin = admin
	return s.Await(ctx, "signpost is ready", func() bool { return clienttest.Ready(ctx, admin) == nil })
}

// createNodes creates the nodes of the pods, whose zones go into slices.
func (s *side) createNodes(ctx context.Context) error {
	for i, zone := range zones {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName(i), Labels: map[string]string{}}}
		if zone != "" {
			node.Labels[corev1.LabelTopologyZone] = zone
		} else {
			// One node without a zone would leave all slices without hints for zones, but for a node that
			// isn't for work.
			node.Labels["node-role.kubernetes.io/control-plane"] = ""
		}
		if _, err := s.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create a node: %w", err)
		}
		if err := beat(ctx, s.client, node.Name); err != nil {
			return err
		}
	}
	return nil
}

// beat is the heartbeat of a node. After ten minutes without one, its pods would become unready.
func beat(ctx context.Context, client kubernetes.Interface, node string) error {
	status := canonical(corev1.NodeStatus{
		Conditions: []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Now(), Reason: "KubeletReady",
		}},
		Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")},
	})
	patch := fmt.Appendf(nil, `{"status":%s}`, status)
	if _, err := client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
		return fmt.Errorf("heartbeat of node %s: %w", node, err)
	}
	return nil
}

// createNamespace creates a namespace in which pods can be created.
func (s *side) createNamespace(ctx context.Context, name string) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := s.client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create a namespace in the cluster of %s: %w", s.name, err)
	}
	err := s.Await(ctx, "the default service account exists", func() bool {
		_, err := s.client.CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
		return err == nil
	})
	if err != nil {
		return fmt.Errorf("in the cluster of %s: %w", s.name, err)
	}
	return nil
}

// untilNoConflict reads and writes an object until nobody else has written in between.
func untilNoConflict(ctx context.Context, write func() error) error {
	for {
		err := write()
		if !apierrors.IsConflict(err) || ctx.Err() != nil {
			return err
		}
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/signpostd/signpost/internal/childprocess"
	"github.com/signpostd/signpost/internal/pause"
)

const (
	startWithin = 3 * time.Minute
	stopWithin  = 15 * time.Second
	// heartbeat is how often nodes say that they are alive; after ten minutes without, their pods would become unready.
	heartbeat = 2 * time.Minute
)

// zones are those of the nodes; the last node has none.
var zones = []string{"z1", "z2", "z2", ""}

func nodeName(i int) string { return fmt.Sprintf("diff-%d", i) }

// ownNode stands for the one node that a sequence has for itself, deletes and creates again. Nodes have no namespace, so
// the node is named after that of the sequence.
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
	name   string // kubernetes or signpost, after whose controllers write
	dir    string
	client kubernetes.Interface
	feed   *feed
	pulse  pulse
	// admin is where Signpost serves its metrics; empty where it doesn't run.
	admin     string
	processes []*program
}

// program is a process of a side.
type program struct {
	*childprocess.Process
	log string
}

// startSide starts a cluster and the controllers that write in it.
func startSide(ctx context.Context, dir, controllers string) (*side, error) {
	s := &side{name: controllers, dir: filepath.Join(dir, controllers)}
	if err := s.start(ctx); err != nil {
		s.stop()
		return nil, fmt.Errorf("start the cluster with the controllers of %s: %w", controllers, err)
	}
	return s, nil
}

func (s *side) start(ctx context.Context) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	cluster := filepath.Join(s.dir, "cluster")
	err := s.launch("bin/localcluster", "up", "--dir", cluster, "--nodes", "0",
		"--components", "etcd,kube-apiserver,kube-controller-manager", "--endpoint-controllers", s.name)
	if err != nil {
		return err
	}
	kubeconfig := filepath.Join(cluster, "kubeconfig")
	if err := s.await(ctx, func() bool { _, err := os.Stat(kubeconfig); return err == nil }); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1
	config.WarningHandler = rest.NoWarnings{} // they say that Endpoints are deprecated
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
	err = s.launch("bin/signpost", "controllers", "--kubeconfig", kubeconfig, "--metrics-addr", admin,
		"--leader-elect=false", "--controllers=*,-externalworkloads")
	if err != nil {
		return err
	}
	s.admin = admin
	return s.await(ctx, func() bool { return isReady(admin) == nil })
}

// launch starts a program whose output goes to a file.
func (s *side) launch(name string, args ...string) error {
	log, err := os.Create(filepath.Join(s.dir, filepath.Base(name)+".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = log, log
	p, err := childprocess.Start(cmd, syscall.SIGTERM)
	if err != nil {
		return fmt.Errorf("%w: run `make build` first", err)
	}
	s.processes = append(s.processes, &program{p, log.Name()})
	return nil
}

// alive returns an error if a process has ended by itself, with the end of its log.
func (s *side) alive() error {
	for _, p := range s.processes {
		select {
		case <-p.Exited():
			log, _ := os.ReadFile(p.log)
			return fmt.Errorf("a process in the cluster of %s has ended: %s", s.name, log[max(0, len(log)-2000):])
		default:
		}
	}
	return nil
}

// await waits until something holds while all processes live.
func (s *side) await(ctx context.Context, holds func() bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startWithin, errors.New("it took too long"))
	defer cancel()
	for !holds() {
		if err := s.alive(); err != nil {
			return err
		}
		if pause.For(ctx, pollEvery) != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

func (s *side) stop() {
	for i := len(s.processes) - 1; i >= 0; i-- {
		s.processes[i].Stop(stopWithin)
	}
}

// createNodes creates the nodes of the pods, whose zones go into slices.
func (s *side) createNodes(ctx context.Context) error {
	for i, zone := range zones {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName(i), Labels: map[string]string{}}}
		if zone != "" {
			node.Labels[corev1.LabelTopologyZone] = zone
		} else {
			// One node without a zone would leave all slices without hints for zones, but for a node that isn't for work.
			node.Labels["node-role.kubernetes.io/control-plane"] = ""
		}
		if _, err := s.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create a node: %w", err)
		}
	}
	return s.beat(ctx)
}

// aliveStatus is what a kubelet says that is alive.
func aliveStatus() corev1.NodeStatus {
	return corev1.NodeStatus{
		Conditions: []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Now(), Reason: "KubeletReady",
		}},
		Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")},
	}
}

// beat is the heartbeat of all nodes.
func (s *side) beat(ctx context.Context) error {
	for i := range zones {
		err := untilNoConflict(ctx, func() error {
			node, err := s.client.CoreV1().Nodes().Get(ctx, nodeName(i), metav1.GetOptions{})
			if err != nil {
				return err
			}
			node.Status = aliveStatus()
			_, err = s.client.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{})
			return err
		})
		if err != nil {
			return fmt.Errorf("heartbeat of node %s: %w", nodeName(i), err)
		}
	}
	return nil
}

// createNamespace creates a namespace in which pods can be created.
func (s *side) createNamespace(ctx context.Context, name string) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := s.client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create a namespace in the cluster of %s: %w", s.name, err)
	}
	err := s.await(ctx, func() bool {
		_, err := s.client.CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
		return err == nil
	})
	if err != nil {
		return fmt.Errorf("wait for the default service account in the cluster of %s: %w", s.name, err)
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

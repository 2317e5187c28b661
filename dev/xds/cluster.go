package main

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/signpostd/signpost/dev/clienttest"
)

const (
	// outage is how long the API server is away in the scene about that.
	outage = 60 * time.Second
	// replicas is how many replicas of signpost xds run.
	replicas = 2
	// namespace has all Services.
	namespace = "shop"
	// authority is that of the names xds://AUTHORITY/NAME, which all replicas answer.
	authority = "a"
)

// cluster is the API server, the replicas and all other programs. One goroutine uses it.
type cluster struct {
	clienttest.Programs
	kubeconfig string
	client     kubernetes.Interface
	dynamic    dynamic.Interface
	front      *front
	replicas   [replicas]*clienttest.Program
	started    int
}

// startCluster starts the servers.
func startCluster(ctx context.Context, dir string) (*cluster, error) {
	c := &cluster{Programs: clienttest.Programs{Dir: dir, Target: "xds"}}
	for _, step := range []func(context.Context) error{c.startAPIServer, c.startFront, c.startReplicas} {
		if err := step(ctx); err != nil {
			c.stop()
			return nil, fmt.Errorf("start the cluster: %w", err)
		}
	}
	return c, nil
}

func (c *cluster) startAPIServer(ctx context.Context) (err error) {
	c.kubeconfig, err = c.StartCluster(ctx, "--crds", "deploy/crds", "--components", "etcd,kube-apiserver", "--restart-delay", outage.String())
	if err != nil {
		return err
	}
	config, err := clienttest.ClientConfig(c.kubeconfig)
	if err != nil {
		return err
	}
	if c.client, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	if c.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return err
	}
	shop := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	_, err = c.client.CoreV1().Namespaces().Create(ctx, shop, metav1.CreateOptions{})
	return err
}

func (c *cluster) startFront(ctx context.Context) (err error) {
	var to []string
	for i := range replicas {
		to = append(to, replicaAddress(i))
	}
	c.front, err = openFront(ctx, serviceAddress, to)
	return err
}

func (c *cluster) startReplicas(ctx context.Context) error {
	for i := range c.replicas {
		if err := c.startReplica(i); err != nil {
			return err
		}
	}
	return c.awaitReplicas(ctx)
}

func replicaAddress(i int) string { return fmt.Sprintf("127.0.0.1:%d", 18087+i) }

func adminAddress(i int) string { return fmt.Sprintf("127.0.0.1:%d", 19996+i) }

// startReplica starts a replica with the settings that it has when nobody sets any, and an authority.
func (c *cluster) startReplica(i int) (err error) {
	c.started++
	c.replicas[i], err = c.Launch(fmt.Sprintf("signpost-%d", c.started), exec.Command("bin/signpost", "xds",
		"--kubeconfig", c.kubeconfig, "--xds-addr", replicaAddress(i), "--metrics-addr", adminAddress(i), "--xds-authorities", authority))
	return err
}

func (c *cluster) awaitReplicas(ctx context.Context) error {
	for i := range c.replicas {
		err := c.Await(ctx, "replica "+strconv.Itoa(i)+" is ready", func() bool {
			return clienttest.Ready(ctx, adminAddress(i)) == nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// endReplica ends a replica with a signal, and waits until it has ended.
func (c *cluster) endReplica(i int, with syscall.Signal) error {
	return c.Kill(c.replicas[i], with)
}

// metric returns the sum of a metric's series over all replicas.
func (c *cluster) metric(ctx context.Context, name string) (sum float64, err error) {
	for i := range c.replicas {
		values, err := clienttest.Metric(ctx, adminAddress(i), name)
		if err != nil {
			return 0, err
		}
		for _, v := range values {
			sum += v
		}
	}
	return sum, nil
}

// stop ends all programs, the last started first.
func (c *cluster) stop() {
	c.Stop()
	if c.front != nil {
		c.front.close()
	}
}

package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

//go:embed federated.yaml
var federated string

// everywhere is the federated Service of the demo: web here and web in east.
const everywhere = `
apiVersion: v1
kind: Service
metadata:
  name: web-everywhere
  namespace: shop
  annotations:
    multicluster.linkerd.io/local-discovery: web
    multicluster.linkerd.io/remote-discovery: web@east
spec:
  ports: [{name: http, port: 80}]
`

// twoClusters tells the story of a federated Service that gains and loses a cluster.
func (s *environment) twoClusters(ctx context.Context) error {
	west, err := s.startShop(ctx, "west", "node-0", "node-1")
	if err != nil {
		return err
	}
	east, err := s.startShop(ctx, "east", "node-2", "node-3")
	if err != nil {
		return err
	}
	s.cluster = *west
	if err := s.startDestination(ctx); err != nil {
		return err
	}
	say("In west, a federated Service: its members are web here, and web in a cluster named east that nobody has linked yet")
	fmt.Print(everywhere[1:])
	if err := west.manifests.ApplyAll(ctx, strings.NewReader(everywhere), "shop"); err != nil {
		return err
	}
	const name = "web-everywhere.shop.svc.cluster.local:80"
	say("Watching as a proxy in west does: signpost get %s --watch", name)
	if err := s.start(s.stream.print, "bin/signpost", "get", name, "--addr", s.grpc, "--watch"); err != nil {
		return err
	}
	if err := s.counted(ctx, 2, 0); err != nil {
		return err
	}
	return s.gainAndLose(ctx, west, east)
}

func (s *environment) gainAndLose(ctx context.Context, west, east *cluster) error {
	secret, err := east.link()
	if err != nil {
		return err
	}
	secrets := west.client.CoreV1().Secrets(secret.Namespace)
	say("Linking east: a Secret in west with a kubeconfig for it")
	if _, err := secrets.Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("link east: %w", err)
	}
	if err := s.counted(ctx, 4, 0); err != nil {
		return err
	}
	if err := s.showClusters(ctx); err != nil {
		return err
	}
	say("A pod of east goes: kubectl --context east -n shop delete pod web-b")
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
	if err := east.client.CoreV1().Pods("shop").Delete(ctx, "web-b", now); err != nil {
		return fmt.Errorf("delete the pod web-b of east: %w", err)
	}
	if err := s.counted(ctx, 4, 1); err != nil {
		return err
	}
	say("Unlinking east: the Secret is deleted")
	if err := secrets.Delete(ctx, secret.Name, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("unlink east: %w", err)
	}
	if err := s.counted(ctx, 4, 2); err != nil {
		return err
	}
	return s.showClusters(ctx)
}

// startShop starts a cluster with a shop whose pods are on these nodes, and the controllers that write
// its EndpointSlices.
func (s *environment) startShop(ctx context.Context, name, nodeA, nodeB string) (*cluster, error) {
	say("Starting the cluster %s on 127.0.0.1, with a Service web of two pods", name)
	c, err := s.startCluster(ctx, filepath.Join(s.dir, name), "--nodes", "4", "--components", "etcd,kube-apiserver")
	if err != nil {
		return nil, err
	}
	objects := strings.NewReplacer("NODE-A", nodeA, "NODE-B", nodeB).Replace(federated)
	if err := c.manifests.ApplyAll(ctx, strings.NewReader(objects), "shop"); err != nil {
		return nil, err
	}
	_, _, err = s.runControllers(ctx, c)
	return c, err
}

// link returns the Secret that links the cluster as east, as `linkerd multicluster link` makes it.
func (c *cluster) link() (*corev1.Secret, error) {
	kubeconfig, err := os.ReadFile(c.kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("link east: %w", err)
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "linkerd", Name: "cluster-credentials-east",
			Labels: map[string]string{"multicluster.linkerd.io/cluster-name": "east"},
			Annotations: map[string]string{
				"multicluster.linkerd.io/trust-domain": "east.example", "multicluster.linkerd.io/cluster-domain": "cluster.local",
			},
		},
		Type: "mirror.linkerd.io/remote-kubeconfig", Data: map[string][]byte{"kubeconfig": kubeconfig},
	}, nil
}

// counted waits until the watching client has received so many added and removed endpoints.
func (s *environment) counted(ctx context.Context, come, gone int) error {
	return s.waitFor(ctx, "the watching client to hear of it", time.Minute, func() (bool, error) {
		c, g, _ := s.stream.counts()
		return c == come && g == gone, fmt.Errorf("it saw %d come and %d go, want %d and %d", c, g, come, gone)
	})
}

// showClusters shows what `signpost clusters` prints.
func (s *environment) showClusters(ctx context.Context) error {
	say("signpost clusters")
	out, err := exec.CommandContext(ctx, "bin/signpost", "clusters", "--addr", s.destinationAdmin).CombinedOutput()
	for line := range strings.Lines(string(out)) {
		fmt.Print("  " + line)
	}
	if err != nil {
		return fmt.Errorf("signpost clusters: %w", err)
	}
	return nil
}

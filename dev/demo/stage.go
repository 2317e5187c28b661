package main

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/signpostd/signpost/internal/manifest"
)

//go:embed shop.yaml
var shop []byte

const (
	authority = "web.shop.svc.cluster.local:80"
	token     = `{"ns":"shop","nodeName":"node-0"}`
)

// stage is the cluster, Signpost and the client of the demo.
type stage struct {
	dir            string
	kubeconfig     string
	grpc, admin    string
	client         *kubernetes.Clientset
	manifests      *manifest.Client
	processes      []*process
	mu             sync.Mutex // guards what the watching clients print: it comes from other goroutines
	added, removed int
	profileLines   []string
}

// set starts everything.
func (s *stage) set(ctx context.Context) error {
	say("Starting a Kubernetes cluster on 127.0.0.1: etcd, API server, scheduler, controllers and three simulated nodes")
	s.kubeconfig = filepath.Join(s.dir, "kubeconfig")
	_, err := s.start(show("  "), "bin/localcluster", "up", "--dir", s.dir, "--nodes", "3", "--crds", "deploy/crds",
		"--pod-ready-delay", "1s") // slow enough to read along
	if err != nil {
		return err
	}
	if err := waitFor(ctx, "the cluster; look at the logs with --stay", 2*time.Minute, s.haveKubeconfig); err != nil {
		return err
	}
	if err := s.connect(); err != nil {
		return err
	}
	say("Opening a shop in it (dev/demo/shop.yaml): a Deployment of 3 in the mesh, a StatefulSet, and a pod outside of the mesh")
	if err := s.manifests.ApplyAll(ctx, bytes.NewReader(shop), "shop"); err != nil {
		return err
	}
	if err := s.rolledOut(ctx, 3); err != nil {
		return err
	}
	return s.startSignpost(ctx)
}

func (s *stage) haveKubeconfig() (bool, error) {
	_, err := os.Stat(s.kubeconfig)
	return err == nil, nil
}

func (s *stage) connect() error {
	config, err := clientcmd.BuildConfigFromFlags("", s.kubeconfig)
	if err != nil {
		return fmt.Errorf("read %s: %w", s.kubeconfig, err)
	}
	if s.client, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	s.manifests, err = manifest.NewClient(config, "demo")
	return err
}

func (s *stage) startSignpost(ctx context.Context) error {
	var err error
	if s.grpc, err = freeAddress(); err != nil {
		return err
	}
	if s.admin, err = freeAddress(); err != nil {
		return err
	}
	say("Starting Signpost in place of Linkerd's destination controller: signpost destination -addr %s", s.grpc)
	_, err = s.start(show("  "), "bin/signpost", "destination", "-kubeconfig", s.kubeconfig, "-addr", s.grpc, "-metrics-addr", s.admin,
		"-cluster-domain", "cluster.local", "-identity-trust-domain", "cluster.local", "-enable-ipv6=false")
	if err != nil {
		return err
	}
	return waitFor(ctx, "Signpost to be ready", time.Minute, func() (bool, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.admin+"/ready", nil)
		if err != nil {
			return false, err
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return false, err
		}
		return res.StatusCode == http.StatusOK, res.Body.Close()
	})
}

// freeAddress returns an address that was free a moment ago.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// strike ends everything, the last started first.
func (s *stage) strike() {
	for i := len(s.processes) - 1; i >= 0; i-- {
		s.processes[i].stop()
	}
}

// play tells the story.
func (s *stage) play(ctx context.Context) error {
	for _, name := range []string{"db-0.db.shop.svc.cluster.local:5432", "jobs.shop.svc.cluster.local:80"} {
		if err := s.get(ctx, name); err != nil {
			return err
		}
	}
	say("Watching as a proxy on node-0 does: signpost get %s --token '%s' --watch", authority, token)
	if _, err := s.start(s.watched, "bin/signpost", "get", authority, "--addr", s.grpc, "--token", token, "--watch"); err != nil {
		return err
	}
	if err := s.seen(ctx, 3, 0); err != nil {
		return err
	}
	say("kubectl -n shop scale deployment web --replicas 5")
	scale := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop"}, Spec: autoscalingv1.ScaleSpec{Replicas: 5}}
	if _, err := s.client.AppsV1().Deployments("shop").UpdateScale(ctx, "web", scale, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("scale deployment web: %w", err)
	}
	if err := s.seen(ctx, 5, 0); err != nil {
		return err
	}
	say("kubectl -n shop rollout restart deployment web")
	restart := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":%q}}}}}`, time.Now().Format(time.RFC3339))
	if _, err := s.client.AppsV1().Deployments("shop").Patch(ctx, "web", types.StrategicMergePatchType, []byte(restart), metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("restart deployment web: %w", err)
	}
	if err := s.rolledOut(ctx, 5); err != nil {
		return err
	}
	if err := s.seen(ctx, 10, 5); err != nil {
		return err
	}
	return s.profile(ctx)
}

// get shows what a client that asks once is told.
func (s *stage) get(ctx context.Context, name string) error {
	say("Asking once: signpost get %s", name)
	answered := make(chan struct{})
	p, err := s.start(show("  "), "bin/signpost", "get", name, "--addr", s.grpc)
	if err != nil {
		return err
	}
	go func() { <-p.copied; close(answered) }()
	select {
	case <-answered:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// watched shows and counts a line of the watching client.
func (s *stage) watched(line string) {
	fmt.Println("  " + line)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, word := range strings.Fields(line)[:min(2, len(strings.Fields(line)))] {
		switch word {
		case "+":
			s.added++
		case "-":
			s.removed++
		}
	}
}

// seen waits until the watching client was told of that many endpoints coming
// and going since it began.
func (s *stage) seen(ctx context.Context, added, removed int) error {
	return waitFor(ctx, "the watching client to hear of it", time.Minute, func() (bool, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.added >= added && s.removed >= removed {
			return true, nil
		}
		return false, fmt.Errorf("it saw %d come and %d go, want %d and %d", s.added, s.removed, added, removed)
	})
}

// rolledOut waits until the Deployment has replicas pods of its latest version, and no others.
func (s *stage) rolledOut(ctx context.Context, replicas int32) error {
	return waitFor(ctx, "the rollout", 2*time.Minute, func() (bool, error) {
		d, err := s.client.AppsV1().Deployments("shop").Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		return complete(d, replicas), fmt.Errorf("deployment web is at %+v", d.Status)
	})
}

func complete(d *appsv1.Deployment, replicas int32) bool {
	s := d.Status
	return s.ObservedGeneration >= d.Generation && s.UpdatedReplicas == replicas && s.AvailableReplicas == replicas && s.Replicas == replicas
}

// invite says what to do while the stage stays open.
func (s *stage) invite() {
	say("Everything stays open until Ctrl-C. In another terminal:")
	fmt.Printf("  export KUBECONFIG=%s\n  kubectl -n shop get pods\n  bin/signpost get %s --addr %s\n  curl http://%s/metrics\n",
		s.kubeconfig, authority, s.grpc, s.admin)
}

func say(format string, args ...any) { fmt.Printf("\n▸ "+format+"\n", args...) }

// show returns a function that prints lines with something before them.
func show(before string) func(string) {
	return func(line string) { fmt.Println(before + line) }
}

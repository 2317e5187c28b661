package measure

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"github.com/signpostd/signpost/dev/clienttest"
)

// QuickClient returns a client that takes as little CPU time as possible: it shares the
// machine with what is measured.
func (c *Cluster) QuickClient() (*kubernetes.Clientset, error) {
	config, err := clienttest.ClientConfig(c.Kubeconfig)
	if err != nil {
		return nil, err
	}
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf
	return kubernetes.NewForConfig(config)
}

// IgnoreExists returns nil for AlreadyExists errors, and other errors unchanged.
func IgnoreExists(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// Cluster is an API server with its own etcd.
type Cluster struct {
	*Process
	Dir, Kubeconfig string
	Client          *kubernetes.Clientset
}

// StartCluster starts an API server that comes back after restartDelay when it
// is killed.
func StartCluster(ctx context.Context, restartDelay time.Duration) (*Cluster, error) {
	dir, err := os.MkdirTemp("", "signpost-bench-")
	if err != nil {
		return nil, err
	}
	p, err := Start(ctx, dir, LocalclusterBinary, "up", "--dir", dir, "--crds", "deploy/crds",
		"--components", "etcd,kube-apiserver", "--nodes", "0", "--restart-delay", restartDelay.String())
	if err != nil {
		return nil, err
	}
	c := &Cluster{Process: p, Dir: dir, Kubeconfig: filepath.Join(dir, "kubeconfig")}
	if err := c.connect(ctx); err != nil {
		c.Stop()
		return nil, err
	}
	return c, nil
}

func (c *Cluster) connect(ctx context.Context) error {
	err := Poll(ctx, 2*time.Minute, func() bool {
		_, err := os.Stat(c.Kubeconfig)
		return err == nil
	})
	if err != nil {
		return fmt.Errorf("start the local cluster: %w: see %s", err, c.Log)
	}
	config, err := clienttest.ClientConfig(c.Kubeconfig)
	if err != nil {
		return err
	}
	c.Client, err = kubernetes.NewForConfig(config)
	return err
}

// Stop ends the cluster and deletes its directory.
func (c *Cluster) Stop() {
	c.Process.Stop()
	_ = os.RemoveAll(c.Dir)
}

// KillAPIServer ends the API server as a crash would.
func (c *Cluster) KillAPIServer() error { return clienttest.KillAPIServer(c.Dir) }

// Serves reports whether the API server says that it is ready.
func (c *Cluster) Serves(ctx context.Context) bool { return clienttest.Serves(ctx, c.Client) }

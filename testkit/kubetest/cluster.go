package kubetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/signpostd/signpost/internal/manifest"
)

// requestTimeout bounds the requests of kubetest itself.
const requestTimeout = 30 * time.Second

// Cluster is a running API server, with clients that have all rights and no rate limits.
type Cluster struct {
	Kubeconfig string // path
	Config     *rest.Config
	Client     kubernetes.Interface
	Dynamic    dynamic.Interface

	dir       string
	process   *process
	private   bool // of one test, so that its objects need not be deleted
	manifests *manifest.Client
}

// startCluster starts a cluster and makes its clients.
func startCluster(options Options) (*Cluster, error) {
	process, err := launch(options)
	if err != nil {
		return nil, err
	}
	cluster, err := newCluster(process)
	if err != nil {
		process.stop()
		return nil, err
	}
	return cluster, nil
}

func newCluster(process *process) (*Cluster, error) {
	config, err := clientcmd.BuildConfigFromFlags("", process.kubeconfig())
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig of the cluster: %w", err)
	}
	config.QPS = -1
	config.WarningHandler = rest.NoWarnings{} // the API server warns that Endpoints are deprecated
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	dynamicClient, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make dynamic client: %w", err)
	}
	manifests, err := manifest.NewClient(config, "kubetest")
	if err != nil {
		return nil, err
	}
	return &Cluster{
		Kubeconfig: process.kubeconfig(),
		Config:     config,
		Client:     client,
		Dynamic:    dynamicClient,
		dir:        process.dir,
		process:    process,
		manifests:  manifests,
	}, nil
}

// close stops the cluster and closes the connections to it.
func (c *Cluster) close() {
	c.process.stop()
	if transport, err := rest.TransportFor(c.Config); err == nil {
		utilnet.CloseIdleConnectionsFor(transport)
	}
}

// Namespace creates a namespace for the test. At the end of the test it is deleted, with its objects.
func (c *Cluster) Namespace(t testing.TB) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	namespace, err := c.Client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: namespacePrefix(t.Name())},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("kubetest: create a namespace: %v", err)
	}
	t.Cleanup(func() {
		if err := c.deleteNamespace(namespace); err != nil {
			t.Logf("kubetest: %v", err)
		}
	})
	return namespace.Name
}

// namespacePrefix returns a prefix that identifies the test.
func namespacePrefix(test string) string {
	const longest = 40
	name := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
			return r
		case 'A' <= r && r <= 'Z':
			return r + 'a' - 'A'
		default:
			return '-'
		}
	}, test)
	return "t-" + name[:min(len(name), longest)] + "-"
}

// deleteNamespace deletes a namespace and its objects. Without a controller manager, nothing else deletes
// them, and the next test would see them. A private cluster ends with its test anyway.
func (c *Cluster) deleteNamespace(namespace *corev1.Namespace) error {
	if c.private {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	namespaces := c.Client.CoreV1().Namespaces()
	if err := namespaces.Delete(ctx, namespace.Name, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("delete namespace %s: %w", namespace.Name, err)
	}
	if err := c.empty(ctx, namespace.Name); err != nil {
		return fmt.Errorf("empty namespace %s: %w", namespace.Name, err)
	}
	namespace = namespace.DeepCopy()
	namespace.ResourceVersion = ""
	namespace.Spec.Finalizers = nil
	if _, err := namespaces.Finalize(ctx, namespace, metav1.UpdateOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("finalize namespace %s: %w", namespace.Name, err)
	}
	return nil
}

// empty deletes everything in a namespace, all kinds at once.
func (c *Cluster) empty(ctx context.Context, namespace string) error {
	lists, err := c.Client.Discovery().ServerPreferredNamespacedResources()
	if err != nil {
		return fmt.Errorf("list kinds: %w", err)
	}
	var (
		deletes sync.WaitGroup
		mu      sync.Mutex
		errs    []error
	)
	for _, resource := range collections(lists) {
		deletes.Go(func() {
			now := metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
			err := c.Dynamic.Resource(resource).Namespace(namespace).DeleteCollection(ctx, now, metav1.ListOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, fmt.Errorf("delete all %s: %w", resource.Resource, err))
			}
		})
	}
	deletes.Wait()
	return errors.Join(errs...)
}

// collections returns the resources that support deletecollection.
func collections(lists []*metav1.APIResourceList) []schema.GroupVersionResource {
	var resources []schema.GroupVersionResource
	for _, list := range lists {
		group, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		for _, resource := range list.APIResources {
			if slices.Contains(resource.Verbs, "deletecollection") {
				resources = append(resources, group.WithResource(resource.Name))
			}
		}
	}
	return resources
}

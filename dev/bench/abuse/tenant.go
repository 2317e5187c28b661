package abuse

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/signpostd/signpost/dev/bench/measure"
	"github.com/signpostd/signpost/dev/bench/workload"
)

// Attacks by somebody who may write the Services and pods of a namespace, and asks for them.

const (
	tenant        = "hostile"
	tenantPod     = "10.99.0.1"
	tenantEdits   = 100 * time.Millisecond
	tenantAsks    = 200 * time.Millisecond
	badNames      = 50_001
	manyMembers   = 41_895
	cleanUpWithin = 10 * time.Second

	opaquePortsAnnotation = "config.linkerd.io/opaque-ports"
	federationAnnotation  = "multicluster.linkerd.io/remote-discovery"
	tenantAuthority       = "web." + tenant + ".svc.cluster.local:80"
)

// tenantClient returns a client of the hostile tenant, with the tenant's namespace. Its objects
// are encoded as protobuf, which the API server doesn't check for valid text.
func (t *target) tenantClient(ctx context.Context) (*kubernetes.Clientset, error) {
	config, err := clientcmd.BuildConfigFromFlags("", t.kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	config.ContentType = runtime.ContentTypeProtobuf
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: tenant}}
	_, err = client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{})
	return client, measure.IgnoreExists(err)
}

// tenantService creates the Service of the tenant.
func tenantService(ctx context.Context, client kubernetes.Interface) (*corev1.Service, error) {
	web := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}, Selector: map[string]string{"app": "web"}},
	}
	return client.CoreV1().Services(tenant).Create(ctx, web, metav1.CreateOptions{})
}

// cleanUp deletes what the tenant made; the next attack has the same cluster.
func cleanUp(client kubernetes.Interface) error {
	ctx, cancel := context.WithTimeout(context.Background(), cleanUpWithin)
	defer cancel()
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
	return errors.Join(
		client.CoreV1().Pods(tenant).DeleteCollection(ctx, now, metav1.ListOptions{}),
		client.CoreV1().Services(tenant).Delete(ctx, "web", now),
		client.DiscoveryV1().EndpointSlices(tenant).DeleteCollection(ctx, now, metav1.ListOptions{}),
	)
}

// attackUTF8 creates a pod whose owner has a name that no message of gRPC can hold, and asks for it.
func attackUTF8(ctx context.Context, t *target) (err error) {
	client, err := t.tenantClient(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cleanUp(client)) }()
	if _, err := tenantService(ctx, client); err != nil {
		return err
	}
	if err := createBadPod(ctx, client); err != nil {
		return err
	}
	destination, done, err := t.client()
	if err != nil {
		return err
	}
	defer done()
	for measure.Pause(ctx, tenantAsks) == nil {
		limited, cancel := context.WithTimeout(ctx, time.Second)
		t.get(limited, destination, &pb.GetDestination{Scheme: "k8s", Path: tenantAuthority})
		t.getProfile(limited, destination, tenantPod+":80")
		cancel()
	}
	return ctx.Err()
}

// createBadPod creates the pod with its address, and the slice of its Service.
func createBadPod(ctx context.Context, client kubernetes.Interface) error {
	pod, err := client.CoreV1().Pods(tenant).Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "a", Labels: map[string]string{"app": "web"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "example.org/v1", Kind: "Thing", Name: "evil\xff", UID: "x"}},
		},
		Spec: corev1.PodSpec{NodeName: workload.NodeName(0), Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create the pod: %w", err)
	}
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: tenantPod, PodIPs: []corev1.PodIP{{IP: tenantPod}},
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
	}
	if _, err := client.CoreV1().Pods(tenant).UpdateStatus(ctx, pod, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("give the pod an address: %w", err)
	}
	_, err = client.DiscoveryV1().EndpointSlices(tenant).Create(ctx, &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: "web-1", Labels: map[string]string{discoveryv1.LabelServiceName: "web"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: new("http"), Port: new(int32(8080))}},
		Endpoints: []discoveryv1.Endpoint{{
			Addresses: []string{tenantPod}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)},
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: tenant, Name: "a", UID: pod.UID},
		}},
	}, metav1.CreateOptions{})
	return err
}

func attackOpaquePorts(ctx context.Context, t *target) error {
	return t.editing(ctx, opaquePortsAnnotation, opaquePorts)
}

func attackFederation(ctx context.Context, t *target) error {
	return t.editing(ctx, federationAnnotation, federation)
}

// opaquePorts returns names of ports that the Service doesn't have.
func opaquePorts(edit int) string {
	return words{"abcdefghijklmnopqrstuvwxyz", 4}.list(badNames, edit, "")
}

// federation returns Services of a cluster that isn't linked.
func federation(edit int) string {
	return words{"abcdefghijklmnopqrstuvwxyz0123456789", 3}.list(manyMembers, edit, "@e")
}

// words are different words of one length.
type words struct {
	alphabet string
	length   int
}

// list returns n words with an ending. They are others, or in another order, with each edit.
func (w words) list(n, edit int, ending string) string {
	var b strings.Builder
	for i := range n {
		for v, k := i+edit*n, 0; k < w.length; k++ {
			b.WriteByte(w.alphabet[v%len(w.alphabet)])
			v /= len(w.alphabet)
		}
		b.WriteString(ending)
		b.WriteByte(',')
	}
	return b.String()
}

// editing changes an annotation of a Service ten times a second, while others ask for the Service.
func (t *target) editing(ctx context.Context, annotation string, value func(edit int) string) (err error) {
	client, err := t.tenantClient(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cleanUp(client)) }()
	web, err := tenantService(ctx, client)
	if err != nil {
		return err
	}
	destination, done, err := t.client()
	if err != nil {
		return err
	}
	defer done()
	var asking sync.WaitGroup
	defer asking.Wait()
	asking.Go(func() {
		for measure.Pause(ctx, tenantAsks) == nil {
			t.get(ctx, destination, &pb.GetDestination{Scheme: "k8s", Path: tenantAuthority})
			t.getProfile(ctx, destination, tenantAuthority)
		}
	})
	tick := time.NewTicker(tenantEdits)
	defer tick.Stop()
	for ; ctx.Err() == nil; t.edits.Add(1) {
		web.Annotations = map[string]string{annotation: value(int(t.edits.Load()))}
		web.ManagedFields = nil
		if web, err = client.CoreV1().Services(tenant).Update(ctx, web, metav1.UpdateOptions{}); err != nil {
			break
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	return err
}

package main

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
)

// The objects of the benchmark: one Service with meshed pods spread over ten
// nodes in three zones, in slices of a hundred.
const (
	namespace = "bench"
	service   = "web"
	perSlice  = 100
	nodes     = 10
	zones     = 3
)

func podName(i int) string { return fmt.Sprintf("%s-%d", service, i) }

func podIP(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, 64, byte(i / 250), byte(1 + i%250)})
}

func nodeName(i int) string { return fmt.Sprintf("node-%d", i%nodes) }

func zoneName(i int) string { return fmt.Sprintf("zone-%d", i%zones) }

// loader creates the objects. What exists already is left as it is.
type loader struct {
	client *kubernetes.Clientset
}

func (l loader) load(ctx context.Context, endpoints int) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := l.client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); ignoreExists(err) != nil {
		return err
	}
	if err := each(ctx, nodes, l.createNode); err != nil {
		return err
	}
	if err := each(ctx, endpoints, l.createPod); err != nil {
		return err
	}
	web := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: service},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": service},
			Ports:    []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt32(8080)}},
		},
	}
	if _, err := l.client.CoreV1().Services(namespace).Create(ctx, web, metav1.CreateOptions{}); ignoreExists(err) != nil {
		return err
	}
	return each(ctx, (endpoints+perSlice-1)/perSlice, func(ctx context.Context, i int) error {
		s := slice(i*perSlice, min((i+1)*perSlice, endpoints))
		_, err := l.client.DiscoveryV1().EndpointSlices(namespace).Create(ctx, s, metav1.CreateOptions{})
		return ignoreExists(err)
	})
}

// startLoadedCluster starts a cluster with the objects of the benchmark.
func startLoadedCluster(ctx context.Context, restartDelay time.Duration, endpoints int) (*cluster, error) {
	k, err := startCluster(ctx, restartDelay)
	if err != nil {
		return nil, err
	}
	if err := (loader{k.client}).load(ctx, endpoints); err != nil {
		k.stop()
		return nil, fmt.Errorf("load the cluster: %w", err)
	}
	return k, nil
}

func (l loader) createNode(ctx context.Context, i int) error {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName(i), Labels: map[string]string{corev1.LabelTopologyZone: zoneName(i)}}}
	_, err := l.client.CoreV1().Nodes().Create(ctx, n, metav1.CreateOptions{})
	return ignoreExists(err)
}

func (l loader) createPod(ctx context.Context, i int) error {
	pods := l.client.CoreV1().Pods(namespace)
	p, err := pods.Create(ctx, pod(i), metav1.CreateOptions{})
	if err != nil {
		return ignoreExists(err)
	}
	ip := podIP(i).String()
	p.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}},
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
	}
	_, err = pods.UpdateStatus(ctx, p, metav1.UpdateOptions{})
	return err
}

func pod(i int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: podName(i), Labels: map[string]string{
			"app": service, "pod-template-hash": "57b57f8947", "linkerd.io/control-plane-ns": "linkerd", "linkerd.io/proxy-deployment": service,
		}},
		Spec: corev1.PodSpec{NodeName: nodeName(i), ServiceAccountName: "default", Containers: []corev1.Container{
			{Name: "app", Image: "app", Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}}},
			{Name: "linkerd-proxy", Image: "proxy", Env: []corev1.EnvVar{
				{Name: "LINKERD2_PROXY_INBOUND_LISTEN_ADDR", Value: "0.0.0.0:4143"},
				{Name: "LINKERD2_PROXY_ADMIN_LISTEN_ADDR", Value: "0.0.0.0:4191"},
				{Name: "LINKERD2_PROXY_CONTROL_LISTEN_ADDR", Value: "0.0.0.0:4190"},
			}},
		}},
	}
}

// slice returns the slice of the pods from up to, but not including, to.
func slice(from, to int) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: fmt.Sprintf("%s-%d", service, from/perSlice),
			Labels: map[string]string{discoveryv1.LabelServiceName: service},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: ptr("http"), Port: ptr(int32(8080)), Protocol: ptr(corev1.ProtocolTCP)}},
	}
	for i := from; i < to; i++ {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{podIP(i).String()}, Conditions: discoveryv1.EndpointConditions{Ready: ptr(true)},
			NodeName: ptr(nodeName(i)), Zone: ptr(zoneName(i)),
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: namespace, Name: podName(i)},
		})
	}
	return s
}

// toggler takes the first pod out of its slice and puts it back, in turns.
type toggler struct {
	client    *kubernetes.Clientset
	endpoints int
	absent    bool
}

// next makes the next change.
func (t *toggler) next(ctx context.Context) error {
	s := slice(0, min(perSlice, t.endpoints))
	if !t.absent {
		s.Endpoints = s.Endpoints[1:]
	}
	if err := t.write(ctx, s); err != nil {
		return err
	}
	t.absent = !t.absent
	return nil
}

// reset puts the first pod back, whoever took it out.
func (t *toggler) reset(ctx context.Context) error {
	t.absent = false
	return t.write(ctx, slice(0, min(perSlice, t.endpoints)))
}

func (t *toggler) write(ctx context.Context, s *discoveryv1.EndpointSlice) error {
	if _, err := t.client.DiscoveryV1().EndpointSlices(namespace).Update(ctx, s, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("update the slice: %w", err)
	}
	return nil
}

func each(ctx context.Context, n int, f func(context.Context, int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	for i := range n {
		g.Go(func() error { return f(ctx, i) })
	}
	return g.Wait()
}

func ignoreExists(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func ptr[T any](v T) *T { return &v }

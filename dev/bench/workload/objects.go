// Package workload has the cluster that most benches of streams share: one Service with many endpoints, and
// streams that watch it.
//
// A Toggler removes and adds an endpoint. Clients measure when each stream receives that change. The streams
// are read by one goroutine each; a Client has a mutex for what others read, and holding it stalls the
// stream.
package workload

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"github.com/signpostd/signpost/dev/bench/measure"
)

// The objects of the benchmark: one Service with meshed pods spread over ten
// nodes in three zones, in slices of a hundred.
const (
	Namespace = "bench"
	Service   = "web"
	perSlice  = 100
	nodes     = 10
	Zones     = 3
)

// PodName returns the name of a pod.
func PodName(i int) string { return fmt.Sprintf("%s-%d", Service, i) }

// PodIP returns the address of a pod.
func PodIP(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, 64, byte(i / 250), byte(1 + i%250)})
}

// NodeName returns the node of a pod.
func NodeName(i int) string { return fmt.Sprintf("node-%d", i%nodes) }

// ZoneName returns the zone of a node.
func ZoneName(i int) string { return fmt.Sprintf("zone-%d", i%Zones) }

// Loader creates the objects. What exists already is left as it is.
type Loader struct {
	Client *kubernetes.Clientset
}

// Load creates the namespace, the nodes, the pods, the Service and its slices.
func (l Loader) Load(ctx context.Context, endpoints int) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace}}
	if _, err := l.Client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); measure.IgnoreExists(err) != nil {
		return err
	}
	if err := measure.ForEach(ctx, nodes, l.createNode); err != nil {
		return err
	}
	if err := measure.ForEach(ctx, endpoints, l.createPod); err != nil {
		return err
	}
	web := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: Service},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": Service},
			Ports:    []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt32(8080)}},
		},
	}
	if _, err := l.Client.CoreV1().Services(Namespace).Create(ctx, web, metav1.CreateOptions{}); measure.IgnoreExists(err) != nil {
		return err
	}
	return measure.ForEach(ctx, (endpoints+perSlice-1)/perSlice, func(ctx context.Context, i int) error {
		s := Slice(i*perSlice, min((i+1)*perSlice, endpoints))
		_, err := l.Client.DiscoveryV1().EndpointSlices(Namespace).Create(ctx, s, metav1.CreateOptions{})
		return measure.IgnoreExists(err)
	})
}

// StartLoadedCluster starts a cluster with the objects of the benchmark.
func StartLoadedCluster(ctx context.Context, restartDelay time.Duration, endpoints int) (*measure.Cluster, error) {
	k, err := measure.StartCluster(ctx, restartDelay)
	if err != nil {
		return nil, err
	}
	if err := (Loader{k.Client}).Load(ctx, endpoints); err != nil {
		k.Stop()
		return nil, fmt.Errorf("load the cluster: %w", err)
	}
	return k, nil
}

func (l Loader) createNode(ctx context.Context, i int) error {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: NodeName(i), Labels: map[string]string{corev1.LabelTopologyZone: ZoneName(i)}}}
	_, err := l.Client.CoreV1().Nodes().Create(ctx, n, metav1.CreateOptions{})
	return measure.IgnoreExists(err)
}

func (l Loader) createPod(ctx context.Context, i int) error {
	pods := l.Client.CoreV1().Pods(Namespace)
	p, err := pods.Create(ctx, pod(i), metav1.CreateOptions{})
	if err != nil {
		return measure.IgnoreExists(err)
	}
	ip := PodIP(i).String()
	p.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}},
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
	}
	_, err = pods.UpdateStatus(ctx, p, metav1.UpdateOptions{})
	return err
}

func pod(i int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: PodName(i), Labels: map[string]string{
			"app": Service, "pod-template-hash": "57b57f8947", "linkerd.io/control-plane-ns": "linkerd", "linkerd.io/proxy-deployment": Service,
		}},
		Spec: corev1.PodSpec{NodeName: NodeName(i), ServiceAccountName: "default", Containers: []corev1.Container{
			{Name: "app", Image: "app", Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}}},
			{Name: "linkerd-proxy", Image: "proxy", Env: []corev1.EnvVar{
				{Name: "LINKERD2_PROXY_INBOUND_LISTEN_ADDR", Value: "0.0.0.0:4143"},
				{Name: "LINKERD2_PROXY_ADMIN_LISTEN_ADDR", Value: "0.0.0.0:4191"},
				{Name: "LINKERD2_PROXY_CONTROL_LISTEN_ADDR", Value: "0.0.0.0:4190"},
			}},
		}},
	}
}

// Slice returns the slice of the pods from up to, but not including, to.
func Slice(from, to int) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: Namespace, Name: fmt.Sprintf("%s-%d", Service, from/perSlice),
			Labels: map[string]string{discoveryv1.LabelServiceName: Service},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: new("http"), Port: new(int32(8080)), Protocol: new(corev1.ProtocolTCP)}},
	}
	for i := from; i < to; i++ {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{PodIP(i).String()}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)},
			NodeName: new(NodeName(i)), Zone: new(ZoneName(i)),
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: Namespace, Name: PodName(i)},
		})
	}
	return s
}

// Toggler takes the first pod out of its slice and puts it back, in turns.
type Toggler struct {
	Client    *kubernetes.Clientset
	Endpoints int
	Absent    bool
}

// Next makes the next change.
func (t *Toggler) Next(ctx context.Context) error {
	s := Slice(0, min(perSlice, t.Endpoints))
	if !t.Absent {
		s.Endpoints = s.Endpoints[1:]
	}
	if err := t.write(ctx, s); err != nil {
		return err
	}
	t.Absent = !t.Absent
	return nil
}

// Reset puts the first pod back, whoever took it out.
func (t *Toggler) Reset(ctx context.Context) error {
	t.Absent = false
	return t.write(ctx, Slice(0, min(perSlice, t.Endpoints)))
}

func (t *Toggler) write(ctx context.Context, s *discoveryv1.EndpointSlice) error {
	if _, err := t.Client.DiscoveryV1().EndpointSlices(Namespace).Update(ctx, s, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("update the slice: %w", err)
	}
	return nil
}

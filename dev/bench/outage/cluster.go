package outage

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/dev/bench/measure"
	"github.com/signpostd/signpost/dev/bench/mesh"
	"github.com/signpostd/signpost/dev/bench/simulation"
)

// What loses its API server: 5,000 streams for 500 Services, which have 5,000 pods.
const (
	realServices       = 500
	realPodsPerService = 10
	realProxies        = 500
	// realSpread is the time within which the streams are opened.
	realSpread = 5 * time.Second
)

// realCluster has what a simulated cluster has, in a real API server and a real etcd. Each Service has one
// slice. Of its pods, the first exist and later ones may come.
type realCluster struct {
	*measure.Cluster
	simulation.Size
	// first is how many pods each Service has at first.
	first int
}

// startReal starts a cluster whose API server comes back after restartDelay when it is killed. So many pods
// of each Service come later.
func startReal(ctx context.Context, restartDelay time.Duration, later int) (*realCluster, error) {
	k, err := measure.StartCluster(ctx, restartDelay)
	if err != nil {
		return nil, err
	}
	filled := &realCluster{Cluster: k, Size: simulation.Size{Services: realServices, Pods: realPodsPerService + later}, first: realPodsPerService}
	if err := filled.fill(ctx); err != nil {
		k.Stop()
		return nil, fmt.Errorf("fill the cluster: %w", err)
	}
	return filled, nil
}

// fill makes everything but the pods that come later.
func (k *realCluster) fill(ctx context.Context) error {
	for _, step := range []struct {
		n    int
		make func(context.Context, int) error
	}{
		{min(simulation.ScaledNamespaces, k.Services), k.createNamespace},
		{k.NodeCount(), k.createNode},
		{k.Services, k.createService},
	} {
		if err := measure.ForEach(ctx, step.n, step.make); err != nil {
			return err
		}
	}
	if err := k.eachPod(ctx, 0, k.first, k.createPod); err != nil {
		return err
	}
	return measure.ForEach(ctx, k.Services, func(ctx context.Context, svc int) error {
		s := k.slice(svc, 0, k.first)
		_, err := k.Client.DiscoveryV1().EndpointSlices(s.Namespace).Create(ctx, s, metav1.CreateOptions{})
		return err
	})
}

// eachPod calls f with the pods of all Services from up to, but not including, to.
func (k *realCluster) eachPod(ctx context.Context, from, to int, f func(context.Context, int) error) error {
	n := to - from
	return measure.ForEach(ctx, k.Services*n, func(ctx context.Context, i int) error { return f(ctx, i/n*k.Pods+from+i%n) })
}

func (k *realCluster) createNamespace(ctx context.Context, i int) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: k.NamespaceOf(i)}}
	_, err := k.Client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{})
	return err
}

func (k *realCluster) createNode(ctx context.Context, i int) error {
	n := simulation.NewGenerator(k.Size).NodeAt(i, simulation.Edited{})
	unstored(&n.ObjectMeta)
	_, err := k.Client.CoreV1().Nodes().Create(ctx, n, metav1.CreateOptions{})
	return err
}

func (k *realCluster) createService(ctx context.Context, svc int) error {
	s := simulation.NewGenerator(k.Size).ServiceAt(svc, simulation.Edited{})
	unstored(&s.ObjectMeta)
	s.Spec.ClusterIP, s.Spec.ClusterIPs = "", nil // the API server has addresses of its own
	_, err := k.Client.CoreV1().Services(s.Namespace).Create(ctx, s, metav1.CreateOptions{})
	return err
}

func (k *realCluster) createPod(ctx context.Context, pod int) error {
	p := simulation.NewGenerator(k.Size).PodAt(pod, simulation.Edited{})
	unstored(&p.ObjectMeta)
	pods := k.Client.CoreV1().Pods(p.Namespace)
	created, err := pods.Create(ctx, p, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	p.Status.QOSClass = created.Status.QOSClass // it can't be changed
	created.Status = p.Status
	_, err = pods.UpdateStatus(ctx, created, metav1.UpdateOptions{})
	return err
}

// deletePod removes a pod at once: nobody here would stop its containers.
func (k *realCluster) deletePod(ctx context.Context, pod int) error {
	return k.Client.CoreV1().Pods(k.NamespaceOf(pod/k.Pods)).Delete(ctx, k.PodName(pod), metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))})
}

// unstored clears what an API server sets.
func unstored(m *metav1.ObjectMeta) { m.UID, m.ResourceVersion, m.ManagedFields = "", "", nil }

// slice returns the slice of a Service with its pods from up to, but not including, to.
func (k *realCluster) slice(svc, from, to int) *discoveryv1.EndpointSlice {
	s := simulation.NewGenerator(k.Size).SliceAt(svc, simulation.Edited{})
	unstored(&s.ObjectMeta)
	s.Endpoints = s.Endpoints[from:to]
	for _, e := range s.Endpoints {
		e.TargetRef.UID = "" // the API server has chosen another one
	}
	return s
}

// updateSlice makes the slice of a Service that of its pods from up to, but not including, to.
func (k *realCluster) updateSlice(ctx context.Context, svc, from, to int) error {
	s := k.slice(svc, from, to)
	if _, err := k.Client.DiscoveryV1().EndpointSlices(s.Namespace).Update(ctx, s, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("update the slice of %s: %w", k.ServiceName(svc), err)
	}
	return nil
}

// open opens the streams of proxies, and waits until each of them knows the pods that there are at first. The
// caller closes the mesh.
func (k *realCluster) open(ctx context.Context, s *measure.Server) (*mesh.Mesh, error) {
	m := &mesh.Mesh{Size: k.Size, Addr: s.Addr, Proxies: realProxies, Later: k.Pods - k.first}
	if err := m.Open(ctx, realSpread); err != nil {
		m.Close()
		return nil, err
	}
	if inexact := m.Settle(ctx, realSpread, within(0, k.first)); inexact > 0 {
		m.Close()
		return nil, fmt.Errorf("%d of %d streams don't know their endpoints; ended: %s", inexact, len(m.Streams), mesh.Failures(m))
	}
	return m, nil
}

// within says of a stream whether it knows exactly the pods of its Service from up to, but not including, to.
func within(from, to int) func(int, *mesh.Stream) bool {
	return func(_ int, s *mesh.Stream) bool {
		return s.Exact(func(pod int) bool { return from <= pod && pod < to })
	}
}

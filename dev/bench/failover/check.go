package failover

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/signpostd/signpost/dev/bench/measure"
)

// whileChanging changes pods until do returns.
func (f *failover) whileChanging(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	changed := make(chan error, 1)
	go func() {
		defer cancel()
		changed <- f.change(ctx)
	}()
	err := do(ctx)
	cancel()
	return errors.Join(<-changed, err)
}

// change changes one pod after the other, at a steady rate, until ctx ends: the
// readiness of most of them, and it deletes some or creates them again.
func (f *failover) change(ctx context.Context) error {
	tick := time.NewTicker(time.Second / failoverRate)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		// Without ctx: a change that is begun is finished, so that states has what holds.
		if err := f.changeOne(context.WithoutCancel(ctx), rand.IntN(f.PodCount())); err != nil {
			return fmt.Errorf("change a pod: %w", err)
		}
	}
}

func (f *failover) changeOne(ctx context.Context, i int) error {
	pods := f.client.CoreV1().Pods(f.PodNamespace(i))
	switch p := &f.states[i]; {
	case p.absent:
		p.absent, p.unready = false, false
		return f.CreatePod(ctx, f.client, i)
	case rand.IntN(5) == 0:
		p.absent = true
		return pods.Delete(ctx, f.PodName(i), metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))})
	default:
		return f.SetReady(ctx, f.client, i, p.toggle())
	}
}

// late returns a further Service for the pods of another one.
func (f *failover) late(i int) *corev1.Service {
	s := f.Service(i % f.Services)
	s.Name = fmt.Sprintf("late-%d", i)
	return s
}

func (f *failover) createLate(ctx context.Context) error {
	return measure.ForEach(ctx, failoverLate, func(ctx context.Context, i int) error {
		s := f.late(i)
		_, err := f.client.CoreV1().Services(s.Namespace).Create(ctx, s, metav1.CreateOptions{})
		return err
	})
}

// removeLate removes the late Services, and their slices, as the garbage
// collector of Kubernetes would: it doesn't run here.
func (f *failover) removeLate(ctx context.Context) error {
	return measure.ForEach(ctx, failoverLate, func(ctx context.Context, i int) error {
		s := f.late(i)
		if err := f.client.CoreV1().Services(s.Namespace).Delete(ctx, s.Name, metav1.DeleteOptions{}); err != nil {
			return err
		}
		if err := measure.Pause(ctx, 500*time.Millisecond); err != nil {
			return err
		}
		return f.client.DiscoveryV1().EndpointSlices(s.Namespace).DeleteCollection(ctx, metav1.DeleteOptions{},
			metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + s.Name})
	})
}

// settle waits until the slices have exactly what they must. Nothing changes meanwhile.
func (f *failover) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, failoverSettle, measure.ErrTimeout)
	defer cancel()
	for {
		wrong, err := f.wrong(ctx)
		if err == nil && wrong == "" {
			return f.checkForeign(ctx)
		}
		if measure.Pause(ctx, 100*time.Millisecond) != nil {
			return fmt.Errorf("wait until the slices have all pods exactly once: %w: %s", errors.Join(context.Cause(ctx), err), wrong)
		}
	}
}

// endpoint is what must be right of an endpoint.
type endpoint struct {
	ip    string
	pod   types.UID
	ready bool
}

// wrong describes the first difference between the slices and the pods, if there is one.
func (f *failover) wrong(ctx context.Context) (string, error) {
	services, err := f.client.CoreV1().Services(metav1.NamespaceAll).List(ctx, metav1.ListOptions{LabelSelector: "app"})
	if err != nil {
		return "", err
	}
	pods, err := f.client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	list, err := f.client.DiscoveryV1().EndpointSlices(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	got := map[string]map[endpoint]int{}
	for i := range list.Items {
		if s := &list.Items[i]; f.foreign[s.Namespace+"/"+s.Name] == "" {
			addEndpoints(got, s)
		}
	}
	want := map[string][]endpoint{} // by app
	for i := range pods.Items {
		p := &pods.Items[i]
		want[p.Labels["app"]] = append(want[p.Labels["app"]], endpoint{p.Status.PodIP, p.UID, isReady(p)})
	}
	for i := range services.Items {
		s := &services.Items[i]
		key := s.Namespace + "/" + s.Name
		if d := difference(want[s.Labels["app"]], got[key]); d != "" {
			return key + ": " + d, nil
		}
	}
	return "", nil
}

// addEndpoints counts the endpoints of a slice.
func addEndpoints(got map[string]map[endpoint]int, s *discoveryv1.EndpointSlice) {
	key := s.Namespace + "/" + s.Labels[discoveryv1.LabelServiceName]
	if got[key] == nil {
		got[key] = map[endpoint]int{}
	}
	for _, e := range s.Endpoints {
		var pod types.UID
		if e.TargetRef != nil {
			pod = e.TargetRef.UID
		}
		got[key][endpoint{e.Addresses[0], pod, e.Conditions.Ready == nil || *e.Conditions.Ready}]++
	}
}

// difference describes an endpoint that isn't in the slices of a Service exactly once.
func difference(want []endpoint, got map[endpoint]int) string {
	for _, e := range want {
		if n := got[e]; n != 1 {
			return fmt.Sprintf("%s, ready %t, is %d times in its slices", e.ip, e.ready, n)
		}
	}
	if len(got) != len(want) {
		return fmt.Sprintf("%d endpoints for %d pods", len(got), len(want))
	}
	return ""
}

func isReady(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// plantForeign creates slices for our Services that are none of the writers' business.
func (f *failover) plantForeign(ctx context.Context) error {
	f.foreign = map[string]string{}
	for i := range f.Services {
		for name, labels := range map[string]map[string]string{
			"foreign":  {discoveryv1.LabelManagedBy: "somebody.example.com"},
			"unsigned": {},
		} {
			labels[discoveryv1.LabelServiceName] = f.ServiceName(i)
			s := &discoveryv1.EndpointSlice{
				ObjectMeta:  metav1.ObjectMeta{Namespace: f.NamespaceOf(i), Name: fmt.Sprintf("%s-%d", name, i), Labels: labels},
				AddressType: discoveryv1.AddressTypeIPv4,
				Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"10.200.0.1"}}},
			}
			s, err := f.client.DiscoveryV1().EndpointSlices(s.Namespace).Create(ctx, s, metav1.CreateOptions{})
			if err != nil {
				return fmt.Errorf("create a foreign slice: %w", err)
			}
			f.foreign[s.Namespace+"/"+s.Name] = s.ResourceVersion
		}
	}
	return nil
}

var errForeign = errors.New("a foreign slice was touched")

func (f *failover) checkForeign(ctx context.Context) error {
	list, err := f.client.DiscoveryV1().EndpointSlices(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	found := 0
	for _, s := range list.Items {
		version, ok := f.foreign[s.Namespace+"/"+s.Name]
		if !ok {
			continue
		}
		found++
		if s.ResourceVersion != version {
			return fmt.Errorf("%w: %s/%s", errForeign, s.Namespace, s.Name)
		}
	}
	if found != len(f.foreign) {
		return fmt.Errorf("%w: %d of %d still exist", errForeign, found, len(f.foreign))
	}
	return nil
}

package whyserved

import (
	"net/netip"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/signpostd/signpost/app/inspect"
)

// A process that only writes slices explains pods, objects that create pods, and addresses by the
// Services that select the pods.
func TestWrittenExplainer(t *testing.T) {
	w := (&fixture{}).service("web", map[string]string{"app": "web"}, func(s *corev1.Service) { s.Spec.ClusterIP = "10.96.0.7" })
	pods := map[string]*corev1.Pod{}
	for name, app := range map[string]string{"web-1": "web", "other-1": "wbe"} {
		pods[name] = &corev1.Pod{ObjectMeta: meta(name, "app", app), Status: corev1.PodStatus{
			PodIP: "10.0.0." + map[string]string{"web-1": "1", "other-1": "2"}[name], Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		}}
		w.objects = append(w.objects, pods[name])
	}
	client := fake.NewClientset(w.objects...)
	client.PrependReactor("list", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		fields := a.(clienttesting.ListAction).GetListRestrictions().Fields
		if ip, ok := fields.RequiresExactMatch("status.podIP"); ok {
			list := &corev1.PodList{}
			for _, p := range pods {
				if p.Status.PodIP == ip {
					list.Items = append(list.Items, *p)
				}
			}
			return true, list, nil
		}
		if ip, ok := fields.RequiresExactMatch("spec.clusterIP"); ok && ip != "10.96.0.7" {
			return true, &corev1.ServiceList{}, nil
		}
		return w.react(a)
	})
	address := func(text string) inspect.Query {
		return inspect.Query{Address: netip.AddrPortFrom(netip.MustParseAddr(text), 0)}
	}
	object := func(kind, name string) inspect.Query {
		return inspect.Query{Object: &inspect.ObjectRef{Kind: kind, Namespace: "shop", Name: name}}
	}
	for name, test := range map[string]struct {
		q    inspect.Query
		want []string
	}{
		"a pod":                {object("Pod", "web-1"), []string{"Pod: the Pod shop/web-1 is ready", "Service: the Service shop/web exists", "Slices: no EndpointSlice belongs to the Service"}},
		"a pod of no Service":  {object("Pod", "other-1"), []string{"Service: no Service of the namespace selects it; the selector of web is app=web: is it meant?"}},
		"no pod":               {object("Pod", "none"), []string{"Pod: there is no Pod shop/none"}},
		"an owner":             {object("Deployment", "none"), []string{"Deployment: a Deployment has no endpoints of its own"}},
		"the address of a pod": {address("10.0.0.1"), []string{"Address: 10.0.0.1 is the address of the Pod shop/web-1", "Service: the Service shop/web exists"}},
		"a cluster IP":         {address("10.96.0.7"), []string{"Address: 10.96.0.7 is a cluster IP of the Service shop/web", "Slices: no EndpointSlice"}},
		"nobody's address":     {address("192.0.2.1"), []string{"Address: no pod has 192.0.2.1 as its first address"}},
		"no Service there":     {inspect.Query{Service: &inspect.ServiceQuery{Namespace: "default", Name: "web"}}, []string{"Service: there is no Service default/web: there is one of that name in another namespace: shop"}},
		"no Service":           {inspect.Query{Service: &inspect.ServiceQuery{Namespace: "shop", Name: "wbe"}}, []string{"Service: there is no Service shop/wbe: did you mean web?"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, s := range (WrittenExplainer{Client: client}).Explain(t.Context(), test.q) {
				got = append(got, s.What+": "+s.Text)
			}
			for _, want := range test.want {
				if !strings.Contains(strings.Join(got, "\n"), want) {
					t.Errorf("no %q in\n%s", want, strings.Join(got, "\n"))
				}
			}
		})
	}
}

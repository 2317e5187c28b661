package portforward_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/app/portforward"
	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/testkit/reachtest"
)

// says returns the address of a server that responds with the text.
func says(t *testing.T, text string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

func configOf(kubeconfig string) func() (*rest.Config, error) {
	return func() (*rest.Config, error) { return kube.LoadConfig(kubeconfig, "test") }
}

func target(kubeconfig string) portforward.Target {
	return portforward.Target{Server: portforward.Admin, Config: configOf(kubeconfig), Selector: portforward.DefaultSelector, Timeout: 20 * time.Second}
}

// answers returns the responses of the processes, each after its name.
func answers(t *testing.T, f *portforward.Found) string {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	var all []string
	for _, p := range f.Processes {
		r, err := client.Get("http://" + p.Addr)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r.Body)
		_ = r.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p.Name+"="+string(text))
	}
	return strings.Join(all, " ")
}

func withPort(pod corev1.Pod, name string, port int32) corev1.Pod {
	c := &pod.Spec.Containers[0]
	c.Ports = append(c.Ports, corev1.ContainerPort{Name: name, ContainerPort: port})
	return pod
}

// All replicas are reached, each at its declared port or the port of its role, over either
// protocol.
func TestFind(t *testing.T) {
	one, two, three := says(t, "1"), says(t, "2"), says(t, "3")
	linkerd := reachtest.Pod("linkerd", "dst", "destination")
	linkerd.Spec.Containers = append([]corev1.Container{{Name: "policy", Ports: []corev1.ContainerPort{{Name: "admin-http", ContainerPort: 9990}}}}, linkerd.Spec.Containers...)
	linkerd.Spec.Containers[1].Name = "destination"
	linkerd.Labels["app.kubernetes.io/name"] = "destination"
	for name, test := range map[string]struct {
		pods     []corev1.Pod
		ports    map[string]string
		change   func(*portforward.Target)
		protocol reachtest.Protocol
		want     string
	}{
		"by default":       {pods: []corev1.Pod{reachtest.Pod("a", "x", "run"), reachtest.Pod("a", "y", "dns")}, ports: map[string]string{"a/x:9996": one, "a/y:7979": two}, want: "x=1 y=2"},
		"two namespaces":   {pods: []corev1.Pod{reachtest.Pod("b", "x"), reachtest.Pod("a", "x")}, ports: map[string]string{"a/x:9996": one, "b/x:9996": two}, want: "a/x=1 b/x=2"},
		"one namespace":    {pods: []corev1.Pod{reachtest.Pod("b", "x"), reachtest.Pod("a", "x")}, ports: map[string]string{"b/x:9996": two}, change: func(t *portforward.Target) { t.Namespace = "b" }, want: "x=2"},
		"declared port":    {pods: []corev1.Pod{withPort(reachtest.Pod("a", "x", "dns"), "admin", 7000)}, ports: map[string]string{"a/x:7000": three}, want: "x=3"},
		"port of the flag": {pods: []corev1.Pod{withPort(reachtest.Pod("a", "x"), "admin", 7000)}, ports: map[string]string{"a/x:7001": three}, change: func(t *portforward.Target) { t.Port = 7001 }, want: "x=3"},
		"Linkerd's pod":    {pods: []corev1.Pod{linkerd}, ports: map[string]string{"linkerd/dst:9996": one}, change: func(t *portforward.Target) { t.Selector = "app.kubernetes.io/name=destination" }, want: "dst=1"},
		"Destination API":  {pods: []corev1.Pod{withPort(reachtest.Pod("a", "x"), "admin", 7000)}, ports: map[string]string{"a/x:8086": two}, change: func(t *portforward.Target) { t.Server = portforward.Destination }, want: "x=2"},
		"xDS":              {pods: []corev1.Pod{withPort(reachtest.Pod("a", "x"), "xds", 8090)}, ports: map[string]string{"a/x:8090": two}, change: func(t *portforward.Target) { t.Server = portforward.XDS }, want: "x=2"},
		"one is enough":    {pods: []corev1.Pod{reachtest.Pod("a", "x"), ready(reachtest.Pod("a", "y"))}, ports: map[string]string{"a/y:9996": two}, change: func(t *portforward.Target) { t.First = portforward.One }, want: "y=2"},
	} {
		for _, protocol := range []reachtest.Protocol{reachtest.SPDY, reachtest.WebSocket} {
			t.Run(fmt.Sprint(name, " over ", protocol), func(t *testing.T) {
				tt := target((&reachtest.Server{Pods: test.pods, Ports: test.ports, Protocol: protocol}).Start(t))
				if test.change != nil {
					test.change(&tt)
				}
				found, err := portforward.Find(t.Context(), tt)
				if err != nil {
					t.Fatal(err)
				}
				defer found.Close()
				if got := answers(t, found); got != test.want || len(found.Notes) > 0 {
					t.Errorf("got %s, notes %q; want %s", got, found.Notes, test.want)
				}
			})
		}
	}
}

func ready(pod corev1.Pod) corev1.Pod {
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	return pod
}

func TestFindErrors(t *testing.T) {
	pending, gone := reachtest.Pod("a", "slow"), reachtest.Pod("a", "done")
	pending.Status.Phase, gone.Status.Phase = corev1.PodPending, corev1.PodSucceeded
	pods := []corev1.Pod{reachtest.Pod("a", "x")}
	for name, test := range map[string]struct {
		server reachtest.Server
		change func(*portforward.Target)
		want   []string
		usage  bool
	}{
		"no pods":         {want: []string{"no running pod with the label app.kubernetes.io/name=signpost in any namespace", "--addr", "--selector"}},
		"pods of others":  {server: reachtest.Server{Pods: pods}, change: func(t *portforward.Target) { t.Namespace = "b" }, want: []string{"in the namespace b"}},
		"none runs":       {server: reachtest.Server{Pods: []corev1.Pod{pending, gone}}, want: []string{"pod a/slow doesn't run yet"}},
		"bad selector":    {change: func(t *portforward.Target) { t.Selector = "!!" }, want: []string{"--selector=!!"}, usage: true},
		"bad address":     {change: func(t *portforward.Target) { t.Addr = "here" }, want: []string{"--addr=here: must be HOST:PORT"}, usage: true},
		"no forwarding":   {server: reachtest.Server{Pods: pods, Protocol: reachtest.Neither}, want: []string{"no process of signpost could be reached", "pod a/x: forward the port 9996"}},
		"a silent server": {server: reachtest.Server{Pods: pods, Protocol: reachtest.Silent}, change: func(t *portforward.Target) { t.Timeout = 200 * time.Millisecond }, want: []string{"doesn't answer"}},
		"no kubeconfig": {change: func(t *portforward.Target) {
			t.Config = func() (*rest.Config, error) { return nil, errors.New("no kubeconfig") }
		}, want: []string{"no kubeconfig; or name the address of a server with --addr"}},
	} {
		t.Run(name, func(t *testing.T) {
			tt := target(test.server.Start(t))
			if test.change != nil {
				test.change(&tt)
			}
			found, err := portforward.Find(t.Context(), tt)
			if err == nil {
				found.Close()
				t.Fatal("no error")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %v; want %q", err, want)
				}
			}
			if usage := new(settings.UsageError); errors.As(err, &usage) != test.usage {
				t.Errorf("%v: a mistake in the arguments: %v", err, !test.usage)
			}
		})
	}
}

// One unreachable pod doesn't prevent the responses of the others.
func TestNotes(t *testing.T) {
	pending := reachtest.Pod("a", "slow")
	pending.Status.Phase = corev1.PodPending
	var pods []corev1.Pod
	ports := map[string]string{}
	text := says(t, "1")
	for i := range 40 {
		pods = append(pods, reachtest.Pod("a", fmt.Sprintf("x%02d", i)))
		ports[fmt.Sprintf("a/x%02d:9996", i)] = text
	}
	found, err := portforward.Find(t.Context(), target((&reachtest.Server{Pods: append(pods, pending), Ports: ports}).Start(t)))
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	if n := len(found.Processes); n != 32 {
		t.Errorf("%d processes", n)
	}
	if want := []string{"pod a/slow doesn't run yet", "only the first 32 of 40 pods are asked: narrow them down with --selector or --signpost-namespace"}; !slices.Equal(found.Notes, want) {
		t.Errorf("notes %q, want %q", found.Notes, want)
	}
}

// An interrupted command doesn't wait for the API server.
func TestFindEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if found, err := portforward.Find(ctx, target((&reachtest.Server{Pods: []corev1.Pod{reachtest.Pod("a", "x")}}).Start(t))); err == nil {
		found.Close()
		t.Error("no error")
	}
}

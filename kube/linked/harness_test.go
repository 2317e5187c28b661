package linked

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/objectmeta"
	"github.com/signpostd/signpost/kube/kinds"
	"github.com/signpostd/signpost/testkit/kubetest"
	"github.com/signpostd/signpost/testkit/metrictest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(kubetest.Wrap(m, kubetest.WithCRDs("../../deploy/crds")))
}

// soon is how long ordinary things may take.
const soon = 30 * time.Second

// fixture is a Set that reads the links of one namespace into a catalog.
type fixture struct {
	t         *testing.T
	api       *kubetest.Cluster
	namespace string
	set       *Set
	catalog   *catalog.Catalog
	registry  *prometheus.Registry
	end       func()

	mu       sync.Mutex
	log      strings.Builder
	events   []string
	problems []string
	fixed    []string
}

func start(t *testing.T, api *kubetest.Cluster) *fixture {
	t.Helper()
	return startFrom(t, api, kinds.FromEndpointSlices)
}

func startFrom(t *testing.T, api *kubetest.Cluster, from kinds.EndpointsFrom) *fixture {
	t.Helper()
	return startWith(t, api, from, func(*Set) {})
}

// startWith is startFrom for a Set that is edited before it runs.
func startWith(t *testing.T, api *kubetest.Cluster, from kinds.EndpointsFrom, edit func(*Set)) *fixture {
	t.Helper()
	f := &fixture{t: t, api: api, namespace: api.Namespace(t), catalog: catalog.New(catalog.Options{}), registry: prometheus.NewRegistry()}
	var err error
	f.set, err = New(Options{
		Config: api.Config, Namespace: f.namespace, Catalog: f.catalog, From: from, Registerer: f.registry,
		Report: f.report, Fixed: f.fix, Events: f, Logger: slog.New(slog.NewTextHandler(f, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	edit(f.set)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = f.catalog.Run(ctx) })
	running.Go(func() {
		if err := f.set.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	f.end = sync.OnceFunc(func() {
		begun := time.Now()
		cancel()
		running.Wait()
		if took := time.Since(begun); took > soon {
			t.Errorf("it took %v to end", took)
		}
	})
	t.Cleanup(f.end)
	t.Cleanup(func() {
		if t.Failed() {
			f.mu.Lock()
			defer f.mu.Unlock()
			t.Log(f.log.String())
		}
	})
	select {
	case <-f.set.Settled():
	case <-time.After(soon):
		t.Fatal("the links were not read")
	}
	f.catalog.MarkSynced()
	return f
}

// Write takes the log.
func (f *fixture) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.log.Write(p)
}

// Event implements Events.
func (f *fixture) Event(about runtime.Object, eventType, reason, message string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = append(f.events, fmt.Sprint(about.(*corev1.ObjectReference).Name, " ", eventType, " ", reason, " ", message))
}

func (f *fixture) report(p objectmeta.Problem) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.problems = append(f.problems, p.Kind+" "+p.Name+" "+p.Reason)
}

func (f *fixture) fix(p objectmeta.Problem, _ time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fixed = append(f.fixed, fmt.Sprint(p.Kind, " ", p.Namespace == f.namespace, " ", p.Name))
}

// wantFixed waits until the problems of a Secret are reported as fixed.
func (f *fixture) wantFixed(secret string) {
	f.t.Helper()
	kubetest.Eventually(f.t, soon, func() error {
		f.mu.Lock()
		defer f.mu.Unlock()
		if !slices.Contains(f.fixed, "Secret true "+secret) {
			return fmt.Errorf("fixed are %q", f.fixed)
		}
		return nil
	})
}

// wantEvent waits for an Event that has all these parts.
func (f *fixture) wantEvent(parts ...string) {
	f.t.Helper()
	kubetest.Eventually(f.t, soon, func() error {
		f.mu.Lock()
		defer f.mu.Unlock()
		if !anyHas(f.events, parts) {
			return fmt.Errorf("no Event with %q among %q", parts, f.events)
		}
		return nil
	})
}

func anyHas(lines, parts []string) bool {
	return slices.ContainsFunc(lines, func(line string) bool {
		return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) })
	})
}

// linkTo returns a Secret that links a cluster.
func linkTo(name string, api *kubetest.Cluster, t *testing.T) *corev1.Secret {
	t.Helper()
	return secretWith(name, kubeconfigOf(t, api, nil))
}

func secretWith(name, kubeconfig string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: "cluster-credentials-" + name, Labels: map[string]string{clusterNameLabel: name},
			Annotations: map[string]string{trustDomainAnnotation: name + ".trust", clusterDomainAnnotation: name + ".local"},
		},
		Type: secretType, Data: map[string][]byte{kubeconfigKey: []byte(kubeconfig)},
	}
}

// kubeconfigOf returns a kubeconfig of an API server, edited if edit is not nil.
func kubeconfigOf(t *testing.T, api *kubetest.Cluster, edit func(*clientcmdapi.Config)) string {
	t.Helper()
	file, err := clientcmd.LoadFromFile(api.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if err := clientcmdapi.FlattenConfig(file); err != nil {
		t.Fatal(err)
	}
	if edit != nil {
		edit(file)
	}
	text, err := clientcmd.Write(*file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (f *fixture) create(s *corev1.Secret) {
	f.t.Helper()
	if _, err := f.api.Client.CoreV1().Secrets(f.namespace).Create(f.t.Context(), s, metav1.CreateOptions{}); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) update(s *corev1.Secret) {
	f.t.Helper()
	if _, err := f.api.Client.CoreV1().Secrets(f.namespace).Update(f.t.Context(), s, metav1.UpdateOptions{}); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) remove(s *corev1.Secret) {
	f.t.Helper()
	if err := f.api.Client.CoreV1().Secrets(f.namespace).Delete(f.t.Context(), s.Name, metav1.DeleteOptions{}); err != nil {
		f.t.Fatal(err)
	}
}

// await waits until the state of a cluster is this, for a reason that has the text, and
// returns its status.
func (f *fixture) await(name string, state State, why string) (found Status) {
	f.t.Helper()
	kubetest.Eventually(f.t, 2*soon+outage.Length(), func() error {
		for _, s := range f.set.Status() {
			if s.Cluster == name && s.State == state && strings.Contains(s.Reason, why) {
				found = s
				return nil
			}
		}
		return fmt.Errorf("%s is not %s (%s): %+v", name, state, why, f.set.Status())
	})
	return found
}

// wantService waits until a Service of a cluster is known, or is not.
func (f *fixture) wantService(cluster, namespace, name string) {
	f.t.Helper()
	kubetest.Eventually(f.t, soon, func() error {
		if _, ok := f.catalog.FindService(catalog.ServiceKey{Cluster: cluster, Namespace: namespace, Name: name}); !ok {
			return fmt.Errorf("Service %s of %s is not known", name, cluster)
		}
		return nil
	})
}

// wantCluster waits until the catalog, which takes what it is told in its own time, has
// this of a cluster.
func (f *fixture) wantCluster(want catalog.Cluster) {
	f.t.Helper()
	kubetest.Eventually(f.t, soon, func() error {
		if got := f.catalog.Cluster(want.Name); got == nil || *got != want {
			return fmt.Errorf("cluster %s is %+v, want %+v", want.Name, got, want)
		}
		return nil
	})
}

func (f *fixture) wantGone(cluster string) {
	f.t.Helper()
	kubetest.Eventually(f.t, soon, func() error {
		if f.catalog.Cluster(cluster) != nil {
			return errors.New(cluster + " is known")
		}
		for _, s := range f.set.Status() {
			if s.Cluster == cluster && s.State != Unusable {
				return fmt.Errorf("%s is listed: %+v", cluster, s)
			}
		}
		return nil
	})
}

// gauge returns the sum of the series of a metric.
func (f *fixture) gauge(name string) float64 {
	f.t.Helper()
	return metrictest.Sum(f.t, f.registry, name)
}

func applyService(t *testing.T, api *kubetest.Cluster, namespace, name string) {
	t.Helper()
	api.Apply(t, "{apiVersion: v1, kind: Service, metadata: {name: "+name+"}, spec: {ports: [{port: 80}]}}", namespace)
}

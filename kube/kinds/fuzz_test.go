package kinds

//lint:file-ignore SA1019 Endpoints are deprecated, and read all the same.

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/signpostd/signpost/api/linkerd"
	"github.com/signpostd/signpost/api/policy"
	"github.com/signpostd/signpost/api/workload"
	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/kube"
)

// FuzzTrim calls all trim functions with any JSON. They must not panic, nor return anything that the catalog
// must never get, nor depend on what a scope shares.
func FuzzTrim(f *testing.F) {
	for _, seed := range []string{
		`{"metadata":{"name":"x","ownerReferences":[{"kind":"Service"}]},"ports":[{"port":null}],"endpoints":[{"addresses":["1.1.1.1"],"targetRef":{}}]}`,
		`{"spec":{"containers":[{"name":"linkerd-proxy","ports":[{"containerPort":-1}],"env":[{}]}]}}`,
		`{"spec":{"port":"a","podSelector":{"matchExpressions":[{"operator":"In"}]}}}`,
		`{"spec":{"routes":[{"condition":{"not":[null],"all":[null]},"responseClasses":[{}]}],"dstOverrides":[{"weight":"500m"}],"retryBudget":{}}}`,
		`{"subsets":[{"addresses":[{"ip":"::1"}],"ports":[{}]}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzzTrim(t, data, trimPod, &corev1.Pod{})
		fuzzTrim(t, data, trimService, &corev1.Service{})
		fuzzTrim(t, data, trimEndpoints, &corev1.Endpoints{})
		fuzzTrim(t, data, partial(trimNode), &metav1.PartialObjectMetadata{})
		fuzzTrim(t, data, partial(trimOwner("Job")), &metav1.PartialObjectMetadata{})
		fuzzTrim(t, data, trimExternalWorkload, &workload.ExternalWorkload{})
		fuzzTrim(t, data, trimServer, &policy.Server{})
		fuzzTrim(t, data, trimServiceProfile, &linkerd.ServiceProfile{})
		if slice := fuzzTrim(t, data, trimEndpointSlice, &discoveryv1.EndpointSlice{}); slice != nil {
			checkSlice(t, slice)
		}
	})
}

// partial makes a trim function of metadata accept objects that have only metadata.
func partial[T any](trim func(kube.Scope, metav1.Object) (*T, []kube.Problem)) func(kube.Scope, *metav1.PartialObjectMetadata) (*T, []kube.Problem) {
	return func(s kube.Scope, m *metav1.PartialObjectMetadata) (*T, []kube.Problem) { return trim(s, m) }
}

func fuzzTrim[K runtime.Object, T any](t *testing.T, data []byte, trim func(kube.Scope, K) (*T, []kube.Problem), obj K) *T {
	t.Helper()
	if yaml.Unmarshal(data, obj) != nil {
		return nil
	}
	got, problems := trim(kube.Scope{}, obj)
	again, _ := trim(kube.NewScope(""), obj)
	if diff := cmp.Diff(got, again, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Errorf("interning changed the value:\n%s", diff)
	}
	if got == nil && len(problems) == 0 {
		t.Errorf("%T was dropped without a word", obj)
	}
	return got
}

func checkSlice(t *testing.T, slice *catalog.EndpointSlice) {
	t.Helper()
	for _, s := range slice.Subsets {
		for _, p := range s.Ports {
			if p.Port == 0 {
				t.Error("a port without a number was kept")
			}
		}
		for _, e := range s.Endpoints {
			if len(e.Addresses) == 0 || e.Target.Kind != "" && e.Target.Name == "" {
				t.Errorf("endpoint %+v was kept", e)
			}
		}
	}
}

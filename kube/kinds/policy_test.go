package kinds

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/kube"
)

func TestBadPoliciesAreProblems(t *testing.T) { // case 35 of xDS
	for annotation, values := range map[string][]string{
		balancerAnnotation:    {"", "random", "subset", "subset; size=0", "ring-hash; header=X Y", "least-request; size=2"},
		outliersAnnotation:    {"", "interval=1s", "failure-percentage=101", "failure-percentage=50; interval=x", "x=1"},
		maxRequestsAnnotation: {"", "0", "-1", "many"},
		timeoutAnnotation:     {"", "0", "-1s", "25h", "5"},
		retryOnAnnotation:     {"", "5xx", "unavailable,"},
	} {
		for _, text := range values {
			d := newFieldReader(kube.Scope{Cluster: "east"}, "ns", "web")
			p := d.trafficPolicy(map[string]string{annotation: text})
			_, problems := admitted(&d, &struct{}{})
			if p != nil || len(problems) != 1 {
				t.Errorf("%s %q: policy %+v, problems %v", annotation, text, p, problems)
			}
		}
	}
}

func TestPolicies(t *testing.T) {
	for name, tc := range map[string]struct {
		annotations map[string]string
		want        catalog.TrafficPolicy
	}{
		"ring hash": {map[string]string{balancerAnnotation: "ring-hash; header=x-user; stable"}, catalog.TrafficPolicy{Balancer: catalog.Balancer{Kind: catalog.RingHash, Header: "x-user", Stable: true}}},
		"subset":    {map[string]string{balancerAnnotation: "subset;size=3"}, catalog.TrafficPolicy{Balancer: catalog.Balancer{Kind: catalog.SubsetOf, Size: 3}}},
		"limits":    {map[string]string{maxRequestsAnnotation: "100", timeoutAnnotation: "1m"}, catalog.TrafficPolicy{MaxRequests: 100, Timeout: time.Minute}},
		"retries": {
			map[string]string{retryOnAnnotation: "unavailable, cancelled,unavailable", retryCountAnnotation: "4", retryBackoffAnnotation: "10ms, 1s"},
			catalog.TrafficPolicy{Retry: &catalog.RetryPolicy{On: "cancelled,unavailable", Count: 4, Backoff: 10 * time.Millisecond, MaxBackoff: time.Second}},
		},
		"retries by default": {map[string]string{retryOnAnnotation: "internal", retryBackoffAnnotation: "20ms"}, catalog.TrafficPolicy{Retry: &catalog.RetryPolicy{On: "internal", Count: 2, Backoff: 20 * time.Millisecond}}},
		"outliers": {
			map[string]string{outliersAnnotation: "success-rate; failure-percentage=50; interval=1s; ejection-time=2s; max-ejection-time=3s; max-ejected=10; min-hosts=4; min-requests=5"},
			catalog.TrafficPolicy{Outliers: &catalog.OutlierDetection{
				Interval: time.Second, EjectionTime: 2 * time.Second, MaxEjectionTime: 3 * time.Second, MaxEjected: 10,
				SuccessRate: 1900, FailurePercentage: 50, MinHosts: 4, MinRequests: 5,
			}},
		},
	} {
		d := newFieldReader(kube.Scope{Cluster: "east"}, "ns", "web")
		p := d.trafficPolicy(tc.annotations)
		_, problems := admitted(&d, &struct{}{})
		if diff := cmp.Diff(&tc.want, p); diff != "" || len(problems) > 0 {
			t.Errorf("%s: problems %v (-want +got):\n%s", name, problems, diff)
		}
	}
}

// TestVisibleTo shows that a Service with an invalid list of namespaces is visible only in its own.
func TestVisibleTo(t *testing.T) { // case 60 of xDS
	for text, want := range map[string]string{
		".": ".", "shop": "shop", " b , a,b": "a,b", "web,.": ".,web", "": ".", "a,,b": ".", "A": ".", "*": ".", strings.Repeat("a", 600): ".",
	} {
		d := newFieldReader(kube.Scope{Cluster: "east"}, "ns", "web")
		p := d.trafficPolicy(map[string]string{visibleToAnnotation: text})
		_, problems := admitted(&d, &struct{}{})
		if p.VisibleTo != want || (len(problems) == 1) != (want == "." && text != ".") {
			t.Errorf("%q: visible to %q, problems %v", text, p.VisibleTo, problems)
		}
	}
}

// TestEndpointTLS shows that a Service with an unreadable TLS setting isn't called without TLS.
func TestEndpointTLS(t *testing.T) { // case 39 of xDS
	for text, want := range map[string]catalog.EndpointTLS{
		"spiffe": catalog.SPIFFE, " linkerd ": catalog.LinkerdTLS, "": catalog.SPIFFE, "spifee": catalog.SPIFFE, "none": catalog.SPIFFE, strings.Repeat("a", 600): catalog.SPIFFE,
	} {
		d := newFieldReader(kube.Scope{Cluster: "east"}, "ns", "web")
		p := d.trafficPolicy(map[string]string{tlsAnnotation: text})
		_, problems := admitted(&d, &struct{}{})
		usable := text == "spiffe" || text == " linkerd "
		if p == nil || p.TLS != want || (len(problems) == 0) != usable {
			t.Errorf("%q: policy %+v, problems %v", text, p, problems)
		}
	}
}

func TestEndpointConditions(t *testing.T) { // case 14 of xDS
	yes, no := true, false
	values := []*bool{nil, &yes, &no}
	for _, ready := range values {
		for _, serving := range values {
			for _, terminating := range values {
				d := newFieldReader(kube.Scope{Cluster: "east"}, "ns", "web")
				e, ok := d.sliceEndpoint(&discoveryv1.Endpoint{
					Addresses:  []string{"10.0.0.1"},
					Conditions: discoveryv1.EndpointConditions{Ready: ready, Serving: serving, Terminating: terminating},
				}, 0)
				notReady := ready == &no
				draining := notReady && serving != &no && terminating == &yes
				if !ok || e.NotReady != notReady || e.Draining != draining {
					show := func(b *bool) string {
						if b == nil {
							return "nil"
						}
						return fmt.Sprint(*b)
					}
					t.Errorf("ready %s, serving %s, terminating %s: %+v", show(ready), show(serving), show(terminating), e)
				}
			}
		}
	}
}
